-- kept
-- In which partitions did jobs get more servers than they requested?
-- One row per partition.
select distinct
  prefix,
  vc
from allocations
where reject is null and nodes > asked_nodes
