-- kept
-- To which clusters do valid records of Slurm's accounting belong?
-- One row per cluster, with the prefix of the cluster's names.
select distinct
  prefix,
  cluster
from records
where reject is null
