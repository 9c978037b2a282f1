-- Functions that the files here call.

-- UTC of a US Pacific time that names its zone, so that both runs of the hour which 2017-11-05
-- repeats are told apart; null for any other text.
create or replace macro utc(pacific) as
-- the zone decides which format is tried: one that does not fit costs ten times one that does
case
  when suffix(pacific, ' PDT')
    then try_strptime(pacific, '%Y-%m-%d %H:%M:%S PDT') + interval 7 hour
  when suffix(pacific, ' PST')
    then try_strptime(pacific, '%Y-%m-%d %H:%M:%S PST') + interval 8 hour
end;
