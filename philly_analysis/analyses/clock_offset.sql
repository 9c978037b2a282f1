-- By how many minutes is the GPU samples' clock ahead of the job log's?
-- One row per (week, event, offset_min).
--   week        Monday of the week of the event
--   event       start or end of an attempt
--   offset_min  minutes that the samples' clock is taken to be ahead of the jobs'
--   events      events watched
--   step_pct    mean change of a GPU's utilisation in % then: ten minutes after less ten before
--   sd_pct      its standard deviation from event to event; null: a single event
select
  week,
  event,
  offset_min,
  events,
  step_pct,
  sd_pct
from gpu_clock_steps
order by all
