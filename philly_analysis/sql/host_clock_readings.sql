-- listed by week of host_samples
-- What do a server's samples say around the starts and ends of attempts?
-- One row per event and sample within 12 hours and 20 minutes of the event.
--   event_no  number of the event in clock_events
--   event_at  minute of the event by the job log
--   week      Monday of the week in which the sample begins
--   since     moment at which the sample begins
--   minutes   minutes that the sample covers
--   pct       CPU use of the attempt's first server, %
--
-- The window covers clock differences of up to twelve hours, and the twenty minutes around an event
-- that the detection of a step needs.
select
  number as event_no,
  event_at,
  machine_id,
  1 as place,
  event_at - interval 740 minute as from_at,
  event_at + interval 740 minute as until_at
from clock_events
