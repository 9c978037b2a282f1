-- materialized
-- How many GPUs does a machine's row of cluster_gpu_util describe, and does it write each twice?
-- One row per machine that was placed or glimpsed.
--   machine_id  machine
--   gpus        GPUs that its placements and its values show
--   doubled     true where each GPU has two values
with placed as (
  select machine_id, max(gpu) + 1 as gpus, count(distinct job_id || '/' || attempt) as attempts
  from log_gpus
  where gpu is not null
  group by machine_id
),

glimpsed as (
  select
    machine_id,
    max(case
      when vals[8] is not null then 8 when vals[7] is not null then 7
      when vals[6] is not null then 6 when vals[5] is not null then 5
      when vals[4] is not null then 4 when vals[3] is not null then 3
      when vals[2] is not null then 2 when vals[1] is not null then 1
    end) as filled,
    bool_and(
      vals[1] is not distinct from vals[2] and vals[3] is not distinct from vals[4]
      and vals[5] is not distinct from vals[6] and vals[7] is not distinct from vals[8]
    ) as alike,
    count(*) filter (list_max(vals) > 0) as busy_rows
  from gpu_glimpse
  where len(vals) <= 8 -- rows with 16 values speak for themselves
  group by machine_id
),

judged as (
  select
    coalesce(placed.machine_id, glimpsed.machine_id) as machine_id,
    placed.gpus as placed_gpus,
    glimpsed.filled,
    -- twice as many values as any attempt used GPUs, and either the values are the same in
    -- pairs, or so many attempts were placed that the upper half would have been met
    coalesce(
      glimpsed.filled % 2 = 0
      and coalesce(placed.gpus, 0) * 2 <= glimpsed.filled
      and (
        (glimpsed.alike and glimpsed.busy_rows >= 5)
        or (placed.gpus * 2 = glimpsed.filled and placed.attempts >= 20)
      ),
      false
    ) as doubled
  from placed
  full join glimpsed on placed.machine_id = glimpsed.machine_id
)

select
  machine_id,
  greatest(placed_gpus, case when doubled then filled // 2 else filled end)::integer as gpus,
  doubled
from judged
