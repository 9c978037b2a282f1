-- materialized
-- What is odd about who held which GPU?
-- One row.
--   spells           stretches of time in which attempts overlap on a GPU
--   overlapping      placements in these
--   unused_machines  machines with GPUs of which no attempt ever held one
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
