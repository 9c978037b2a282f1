-- stored
-- By how much does a GPU's utilisation change where attempts start and end?
-- One row per (week, event, offset_min) that any event has whole minutes for.
--   week        Monday of the week of the event
--   event       start or end
--   offset_min  minutes that the samples' clock is taken to be ahead, -720 to 720
--   events      events with ten samples on either side, one a minute
--   step_pct    mean change over them: ten minutes after, less the ten before; the minute of
--               the event belongs to neither
--   sd_pct      standard deviation of the change from event to event; null: a single event
with days as (
  select
    number,
    week,
    event,
    event_at,
    machine_id,
    gpu + 1 as place,
    unnest(
      range(
        date_trunc('day', event_at - interval 740 minute),
        event_at + interval 740 minute,
        interval 1 day
      )
    ) as day
  from clock_events
),

readings as (
  select
    days.number,
    days.week,
    days.event,
    date_diff('minute', days.event_at, s.sampled_at) as lag_min,
    s.util_pct[days.place] as util_pct
  from gpu_samples as s
  inner join days
    on s.machine_id = days.machine_id and date_trunc('day', s.sampled_at) = days.day
  where
    s.sampled_at >= days.event_at - interval 740 minute
    and s.sampled_at < days.event_at + interval 740 minute
),

sums as (
  select
    number,
    week,
    event,
    lag_min,
    sum(util_pct) over (
      partition by number order by lag_min rows between unbounded preceding and current row
    ) as sum_pct
  from readings
  where util_pct is not null
),

steps as (
  select
    week,
    event,
    lag_min as offset_min,
    (
      (lead(sum_pct, 10) over minutes - sum_pct)
      - (lag(sum_pct, 1) over minutes - lag(sum_pct, 11) over minutes)
    ) / 10 as step_pct,
    -- a gap, or a minute sampled twice, within the twenty minutes makes no step
    lead(lag_min, 10) over minutes - lag_min = 10 and lag_min - lag(lag_min, 11) over minutes = 11
      as whole
  from sums
  window minutes as (partition by number order by lag_min)
)

select
  week,
  event,
  offset_min::integer as offset_min,
  count(*) as events,
  avg(step_pct) as step_pct,
  stddev_samp(step_pct) as sd_pct
from steps
where whole and abs(offset_min) <= 720
group by all
