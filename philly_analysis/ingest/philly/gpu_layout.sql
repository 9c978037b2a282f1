-- materialized
-- How many GPUs does a machine's row of cluster_gpu_util describe, and are values repeated?
-- One row per machine with placements or sampled lines.
--   machine_id  machine
--   gpus        number of GPUs, by the machine's placements and values
--   doubled     true where each GPU has two values
with placed as (
  select machine_id, max(gpu) + 1 as gpus, count(distinct job_id || '/' || attempt) as attempts
  from log_gpus
  where gpu is not null
  group by machine_id
),

sampled as (
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
    ) as equal_pairs,
    count(*) filter (list_max(vals) > 0) as busy_rows
  from gpu_glimpse
  where len(vals) <= 8 -- rows with 16 values are always repeated
  group by machine_id
),

layouts as (
  select
    coalesce(placed.machine_id, sampled.machine_id) as machine_id,
    placed.gpus as placed_gpus,
    sampled.filled,
    -- twice as many values as GPUs that attempts used, and either the values are equal in pairs,
    -- or enough attempts were placed there to have used the upper half
    coalesce(
      sampled.filled % 2 = 0
      and coalesce(placed.gpus, 0) * 2 <= sampled.filled
      and (
        (sampled.equal_pairs and sampled.busy_rows >= 5)
        or (placed.gpus * 2 = sampled.filled and placed.attempts >= 20)
      ),
      false
    ) as doubled
  from placed
  full join sampled on placed.machine_id = sampled.machine_id
)

select
  machine_id,
  greatest(placed_gpus, case when doubled then filled // 2 else filled end)::integer as gpus,
  doubled
from layouts
