-- Do servers fail more often in the second half of the record?
-- One row per (server, late).
--   user       identifier of the server
--   late       true for the second 174 days
--   attempts   servers
--   gpu_years  GPU years of the server's eight GPUs in the half
--   failures   hardware faults that begin in the half
with halves as (
  select unnest([false, true]) as late
),

faults as (
  select
    node_id,
    event_time >= 174 as late,
    count(*) as failures
  from published
  where event_type = 'fault_start' and fault_type['Level'] = 'Hardware Failure'
  group by all
),

names as (
  select distinct node_id as "user"
  from published
)

select
  names.user,
  halves.late,
  1 as attempts,
  8 * 174 / 365.25 as gpu_years,
  coalesce(faults.failures, 0) as failures
from names
cross join halves
left join faults
  on names.user = faults.node_id and halves.late = faults.late
order by all
