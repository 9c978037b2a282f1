-- binned by week of host_samples
-- How many server-minutes have each use of CPU and memory, with a job and without?
-- One row per (attempts, resource, week, bin).
--   attempts  attempts with GPUs of the server at the time: 0, 1, or 2 (two or more)
--   resource  cpu: CPU use; mem: memory in use, page cache included, over total memory
--   week      Monday of the week in which the readings begin
--   bin       use in whole percent: 0 is idle, k is above k - 1 and at most k; null: no reading
--   minutes   minutes that the samples cover
--   sum_pct   sum of the use, in % times minutes; null: no reading
--
-- Intervals without attempts fill the gaps of server_tenants, so that every reading counts whole.
with changes as (
  select
    machine_id,
    from_at,
    least(attempts, 2) as attempts,
    until_at
  from server_tenants
  union all by name
  -- no attempt, from the beginning of time
  select distinct
    machine_id,
    timestamp '1970-01-01' as from_at,
    0 as attempts,
    timestamp '1970-01-01' as until_at
  from host_samples
),

intervals as (
  select
    machine_id,
    unnest([attempts, 0]) as attempts,
    unnest([from_at, until_at]) as from_at,
    unnest([
      until_at,
      lead(from_at, 1, timestamp '2200-01-01') over (
        partition by machine_id order by from_at, until_at
      )
    ]) as until_at
  from changes
)

select
  attempts,
  unnest(['cpu', 'mem']) as resource,
  machine_id,
  unnest([1, 2]) as place,
  from_at,
  until_at
from intervals
where from_at < until_at
