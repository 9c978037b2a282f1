-- listed by week of host_samples
-- What do a server's samples say around the starts and ends of attempts?
-- One row per event and sample within 12 hours and 20 minutes of it.
--   event_no  which event: its number in clock_events
--   event_at  minute in which the job log puts it
--   week      Monday of the week of the sample
--   since     moment from which the sample stands
--   minutes   minutes that it stands for
--   pct       CPU use of the attempt's first server, %
--
-- That is what could show the event whatever the distance of the clocks: from twelve hours before
-- it, and the twenty minutes that a step needs, to as long after.
select
  number as event_no,
  event_at,
  machine_id,
  1 as place,
  event_at - interval 740 minute as from_at,
  event_at + interval 740 minute as until_at
from clock_events
