-- stored by week of host_samples
-- How busy was each server's CPU while an attempt held GPUs of it?
-- One row per (holding, week, cpu_bin).
--   holding      which attempt held GPUs of which server: the number in placed_servers, whose
--                attribution tells whether the attempt had the server to itself
--   week         Monday of the week in which the readings began
--   cpu_bin      CPU use rounded up to whole percent: 0 is idle, k is above k - 1 and up to k;
--                null: no reading
--   minutes      minutes that the samples stand for
--   sum_cpu_pct  sum of their CPU use, in % times minutes; null: no reading
--   mem_minutes  minutes with a reading of memory
--   sum_mem_pct  sum of memory in use over memory in total, in % times minutes; null: no reading
--
-- An attempt has the part of each sample that lies in its minutes, as in gpu_use_bins.
with days as (
  select
    holding,
    machine_id,
    epoch_us(from_at) as from_us,
    epoch_us(until_at) as until_us,
    unnest(range(date_trunc('day', from_at - longest), until_at, interval 1 day)) as day,
    date_trunc('week', day)::timestamp as week
  from placed_servers
  cross join longest_host_reading
),

readings as (
  select
    machine_id,
    cpu_pct,
    100 * mem_used_gb / mem_gb as mem_pct,
    date_trunc('day', sampled_at) as day,
    epoch_us(sampled_at) as from_us,
    reading_until(sampled_at, seconds) as until_us
  from host_samples
),

held as (
  select
    days.holding,
    days.week,
    r.cpu_pct,
    r.mem_pct,
    shared_min(r.from_us, r.until_us, days.from_us, days.until_us) as minutes
  from readings as r
  inner join days
    on r.machine_id = days.machine_id and r.day = days.day
  where r.until_us > days.from_us and r.from_us < days.until_us
)

select
  holding,
  week,
  ceil(cpu_pct)::tinyint as cpu_bin,
  sum(minutes) as minutes,
  sum(cpu_pct * minutes) as sum_cpu_pct,
  sum(case when mem_pct is null then 0 else minutes end) as mem_minutes,
  sum(mem_pct * minutes) as sum_mem_pct
from held
group by all
