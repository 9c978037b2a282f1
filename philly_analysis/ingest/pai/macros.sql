-- Functions of the PAI source.

-- UTC of seconds whose hour and weekday are given in UTC+8.
create or replace macro pai_time(text) as
case when try_cast(text as double) between 0 and 1e10
  then timestamp '1970-01-01' - interval 8 hour
    + to_microseconds(round(try_cast(text as double) * 1e6)::bigint)
end;
