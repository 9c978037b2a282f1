-- stored by week of gpu_samples
-- How busy was each held GPU while it was held?
-- One row per (placement, week, bin).
--   placement  which attempt held which GPU: the number in placed_gpus
--   week       Monday of the week in which the readings began
--   bin        utilisation rounded up to whole percent: 0 is idle, k is above k - 1 and up to k;
--              null: offline, the machine reported and the GPU did not
--   minutes    minutes that the readings stand for
--   sum_pct    sum of the readings, in % times minutes; null: offline
--
-- An attempt holds whole minutes, as in the study's notebook: from the one in which it started
-- (from_at) to the one in which it ended (until_at is its end). Of each reading it has the part
-- that lies in them: all or nothing of one that stands for a minute or an even part of it, and
-- the same time in sum whatever the readings stand for. Attempts meet samples by equality on
-- machine and day, then by time within the day; nothing here is beyond an engine that spreads
-- over machines: equi-joins, sum, ceil, grouping.
with days as (
  select
    placement,
    machine_id,
    gpu + 1 as place,
    epoch_us(from_at) as from_us,
    epoch_us(until_at) as until_us,
    -- the first of its readings may begin before it, on the day before
    unnest(range(date_trunc('day', from_at - longest), until_at, interval 1 day)) as day,
    date_trunc('week', day)::timestamp as week
  from placed_gpus
  cross join longest_gpu_reading
),

readings as (
  select
    machine_id,
    util_pct,
    date_trunc('day', sampled_at) as day,
    epoch_us(sampled_at) as from_us,
    reading_until(sampled_at, seconds) as until_us
  from gpu_samples
),

held as (
  select
    days.placement,
    days.week,
    r.util_pct[days.place] as util_pct,
    shared_min(r.from_us, r.until_us, days.from_us, days.until_us) as minutes
  from readings as r
  inner join days
    on r.machine_id = days.machine_id and r.day = days.day
  where
    r.until_us > days.from_us
    and r.from_us < days.until_us
    -- a GPU past the end of the list was not looked at: no sample, which is not offline
    and days.place <= len(r.util_pct)
)

select
  placement,
  week,
  ceil(util_pct)::tinyint as bin,
  sum(minutes) as minutes,
  sum(util_pct * minutes) as sum_pct
from held
group by all
