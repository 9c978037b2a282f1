-- How often do the GPUs of a server fail?
-- One row per server of the 400, with eight GPUs each; servers without a fault have no name.
--   user       identifier of the server
--   gang       gang-size bucket: a server is one observation
--   attempts   servers
--   gpu_years  GPU years of the server's GPUs in the 348 days
--   failures   faults of the class GPU
with faults as (
  select
    node_id,
    count(*) filter (where fault_type['Class'] = 'GPU') as failures
  from published
  where event_type = 'fault_start'
  group by all
),

servers as (
  select
    node_id::varchar as "user",
    failures
  from faults
  union all
  select
    'quiet ' || unnest(range(400 - (select count(*) from faults))) as "user",
    0 as failures
)

select
  "user",
  '5-8' as gang,
  1 as attempts,
  8 * 348 / 365.25 as gpu_years,
  failures
from servers
order by all
