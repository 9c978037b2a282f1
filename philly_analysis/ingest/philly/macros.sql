-- Functions that the files here call.

-- UTC of a US Pacific time that names its zone, so that both runs of the hour which 2017-11-05
-- repeats are told apart; null for any other text.
create or replace macro utc(pacific) as
coalesce(
  try_strptime(pacific, '%Y-%m-%d %H:%M:%S PDT') + interval 7 hour,
  try_strptime(pacific, '%Y-%m-%d %H:%M:%S PST') + interval 8 hour
);
