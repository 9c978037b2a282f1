-- Functions of the PAI source.

-- UTC of seconds whose hour and weekday are those of UTC+8.
create or replace macro pai_time(said) as
case when try_cast(said as double) between 0 and 1e10
  then timestamp '1970-01-01' - interval 8 hour
    + to_microseconds(round(try_cast(said as double) * 1e6)::bigint)
end;
