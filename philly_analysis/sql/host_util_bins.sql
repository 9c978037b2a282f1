-- stored by week of host_samples
-- How many server-minutes stand at each use of CPU and memory, with a job and without?
-- One row per (week, attempts, cpu_bin, mem_bin).
--   week         Monday of the week in which the readings began
--   attempts     attempts that held GPUs of the server then: 0, 1, or 2 for two and more
--   cpu_bin      CPU use rounded up to whole percent; null: no reading
--   mem_bin      memory in use over memory in total, likewise; page cache counts as in use
--   minutes      minutes that the samples stand for
--   sum_cpu_pct  sum of their CPU use, in % times minutes; null: no reading
--   sum_mem_pct  sum of their memory use, in % times minutes; null: no reading
--
-- The same bucketed equi-join as gpu_use_bins, on the stretches of server_tenants. So that each
-- reading is told apart whole, the days that they touch are filled up with stretches of nobody.
with days as (
  select
    machine_id,
    epoch_us(from_at) as from_us,
    epoch_us(until_at) as until_us,
    case when attempts = 1 then 1 else 2 end as attempts,
    unnest(range(date_trunc('day', from_at - longest), until_at, interval 1 day)) as day
  from server_tenants
  cross join longest_host_reading
),

gaps as (
  select
    machine_id,
    day,
    coalesce(lag(until_us) over in_time, epoch_us(day)) as from_us,
    from_us as until_us,
    0 as attempts
  from days
  window in_time as (partition by machine_id, day order by from_us)
  union all by name
  select
    machine_id,
    day,
    max(until_us) as from_us,
    epoch_us(day + interval 2 day) as until_us,
    0 as attempts
  from days
  group by machine_id, day
),

filled as (
  select * from days
  union all by name
  select * from gaps
  where from_us < until_us
),

readings as (
  select
    machine_id,
    cpu_pct,
    100 * mem_used_gb / mem_gb as mem_pct,
    date_trunc('week', sampled_at)::timestamp as week,
    date_trunc('day', sampled_at) as day,
    epoch_us(sampled_at) as from_us,
    reading_until(sampled_at, seconds) as until_us
  from host_samples
),

told as (
  select
    r.week,
    coalesce(filled.attempts, 0) as attempts,
    r.cpu_pct,
    r.mem_pct,
    -- least and greatest pass over the nulls of a day that nobody held a GPU on
    shared_min(r.from_us, r.until_us, filled.from_us, filled.until_us) as minutes
  from readings as r
  left join filled
    on
      r.machine_id = filled.machine_id
      and r.day = filled.day
      and r.until_us > filled.from_us
      and r.from_us < filled.until_us
)

select
  week,
  attempts,
  ceil(cpu_pct)::tinyint as cpu_bin,
  ceil(mem_pct)::tinyint as mem_bin,
  sum(minutes) as minutes,
  sum(cpu_pct * minutes) as sum_cpu_pct,
  sum(mem_pct * minutes) as sum_mem_pct
from told
group by all
