-- kept
-- To which clusters do valid readings of Slurm's records belong?
-- One row per cluster.
select distinct cluster
from readings
where reject is null
