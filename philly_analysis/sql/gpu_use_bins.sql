-- stored by week of gpu_samples
-- How busy was each held GPU while it was held?
-- One row per (placement, week, bin).
--   placement  which attempt held which GPU: the number in placed_gpus
--   week       Monday of the week of the samples
--   bin        utilisation rounded up to whole percent: 0 is idle, k is above k - 1 and up to k;
--              null: offline, the machine reported and the GPU did not
--   minutes    samples
--   sum_pct    their sum in %; null: offline
--
-- A sample belongs to an attempt from the minute in which the attempt started (from_at <= at)
-- to its end (at < until_at), as in the study's notebook. Attempts meet samples by equality on
-- machine and day, then by time within the day; nothing here is beyond an engine that spreads
-- over machines: equi-joins, sum, count, ceil, grouping.
with days as (
  select
    placement,
    machine_id,
    gpu + 1 as place,
    from_at,
    until_at,
    unnest(range(date_trunc('day', from_at), until_at, interval 1 day)) as day,
    date_trunc('week', day)::timestamp as week
  from placed_gpus
),

readings as (
  select
    days.placement,
    days.week,
    s.util_pct[days.place] as util_pct
  from gpu_samples as s
  inner join days
    on s.machine_id = days.machine_id and date_trunc('day', s.sampled_at) = days.day
  where
    s.sampled_at >= days.from_at
    and s.sampled_at < days.until_at
    -- a GPU past the end of the list was not looked at: no sample, which is not offline
    and days.place <= len(s.util_pct)
)

select
  placement,
  week,
  ceil(util_pct)::tinyint as bin,
  count(*)::integer as minutes,
  sum(util_pct) as sum_pct
from readings
group by all
