-- materialized
-- Which allocations of GPUs are inconsistent?
-- One row.
--   spells           intervals in which attempts overlap on a GPU
--   overlapping      placements in intervals with overlapping attempts
--   unused_machines  machines with GPUs that no attempt was allocated
select
  count(*) filter (where attempts > 1) as spells,
  coalesce(sum(attempts) filter (where attempts > 1), 0)::bigint as overlapping,
  (
    select count(*)
    from machines
    anti join placements using (machine_id)
    where gpus > 0
  ) as unused_machines
from busy_gpus
