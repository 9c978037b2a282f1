-- Which samples could show each event, whatever the distance of the clocks?
-- One row per event and day on which such samples may lie.
--   number      number of the event in clock_events
--   event_at    minute in which the job log puts the event
--   machine_id  server to watch
--   gpu         GPU to watch there
--   from_at     first sample: twelve hours before, and the twenty minutes that a step needs
--   until_at    sample after the last one: as long after
--   day         the day
select
  number,
  event_at,
  machine_id,
  gpu,
  event_at - interval 740 minute as from_at,
  event_at + interval 740 minute as until_at,
  unnest(range(date_trunc('day', from_at), until_at, interval 1 day)) as day
from clock_events
