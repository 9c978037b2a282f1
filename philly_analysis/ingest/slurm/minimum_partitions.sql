-- kept
-- In which partitions did jobs get more servers than they requested?
-- One row per partition.
select distinct
  r.prefix,
  r.vc
from records as r
inner join allocations as a using (job_id, attempt)
where r.reject is null and a.nodes > a.asked_nodes
