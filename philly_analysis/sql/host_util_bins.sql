-- stored by week of host_samples
-- How many server-minutes stand at each use of CPU and memory, with a job and without?
-- One row per (week, attempts, cpu_bin, mem_bin).
--   week         Monday of the week of the samples
--   attempts     attempts that held GPUs of the server then: 0, 1, or 2 for two and more
--   cpu_bin      CPU use rounded up to whole percent; null: no reading
--   mem_bin      memory in use over memory in total, likewise; page cache counts as in use
--   minutes      samples
--   sum_cpu_pct  sum of their CPU use in %; null: no reading
--   sum_mem_pct  sum of their memory use in %; null: no reading
--
-- The same bucketed equi-join as gpu_use_bins, on the stretches of server_tenants.
with days as (
  select
    machine_id,
    from_at,
    until_at,
    attempts,
    unnest(range(date_trunc('day', from_at), until_at, interval 1 day)) as day
  from server_tenants
),

readings as (
  select
    date_trunc('week', s.sampled_at)::timestamp as week,
    case when days.attempts is null then 0 when days.attempts = 1 then 1 else 2 end as attempts,
    s.cpu_pct,
    100 * s.mem_used_gb / s.mem_gb as mem_pct
  from host_samples as s
  left join days
    on
      s.machine_id = days.machine_id
      and date_trunc('day', s.sampled_at) = days.day
      and s.sampled_at >= days.from_at
      and s.sampled_at < days.until_at
)

select
  week,
  attempts,
  ceil(cpu_pct)::tinyint as cpu_bin,
  ceil(mem_pct)::tinyint as mem_bin,
  count(*) as minutes,
  sum(cpu_pct) as sum_cpu_pct,
  sum(mem_pct) as sum_mem_pct
from readings
group by all
