-- stored
-- By how much does a GPU's utilisation change where attempts start and end?
-- One row per (week, event, offset_min) that any event has whole minutes for.
--   week        Monday of the week of the event
--   event       start or end
--   offset_min  minutes that the samples' clock is taken to be ahead, -720 to 720
--   events      events with samples of ten whole minutes on either side
--   step_pct    mean change over them: ten minutes after, less the ten before; the minute of
--               the event belongs to neither
--   sd_pct      standard deviation of the change from event to event; null: a single event
with readings as (
  select
    w.number,
    date_diff('minute', w.event_at, s.sampled_at) as lag_min,
    s.seconds,
    s.util_pct[w.gpu + 1] as util_pct
  from gpu_samples as s
  inner join clock_windows as w
    on s.machine_id = w.machine_id and date_trunc('day', s.sampled_at) = w.day
  where s.sampled_at >= w.from_at and s.sampled_at < w.until_at
),

events as (
  select
    number,
    week,
    event
  from clock_events
)

select
  week,
  event,
  offset_min,
  events,
  step_pct,
  sd_pct
from clock_steps(readings, events)
