-- stored by week of host_samples
-- How busy was each server's CPU while an attempt held GPUs of it?
-- One row per (holding, week, cpu_bin).
--   holding      which attempt held GPUs of which server: the number in placed_servers, whose
--                attribution tells whether the attempt had the server to itself
--   week         Monday of the week of the samples
--   cpu_bin      CPU use rounded up to whole percent: 0 is idle, k is above k - 1 and up to k;
--                null: no reading
--   minutes      samples
--   sum_cpu_pct  sum of their CPU use in %; null: no reading
--   mem_minutes  samples with a reading of memory
--   sum_mem_pct  sum of memory in use over memory in total, in %; null: no reading
with days as (
  select
    holding,
    machine_id,
    from_at,
    until_at,
    unnest(range(date_trunc('day', from_at), until_at, interval 1 day)) as day,
    date_trunc('week', day)::timestamp as week
  from placed_servers
),

readings as (
  select
    days.holding,
    days.week,
    s.cpu_pct,
    100 * s.mem_used_gb / s.mem_gb as mem_pct
  from host_samples as s
  inner join days
    on s.machine_id = days.machine_id and date_trunc('day', s.sampled_at) = days.day
  where s.sampled_at >= days.from_at and s.sampled_at < days.until_at
)

select
  holding,
  week,
  ceil(cpu_pct)::tinyint as cpu_bin,
  count(*)::integer as minutes,
  sum(cpu_pct) as sum_cpu_pct,
  count(mem_pct)::integer as mem_minutes,
  sum(mem_pct) as sum_mem_pct
from readings
group by all
