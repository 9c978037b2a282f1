-- kept
-- Which clusters do the records of Slurm's accounting name?
-- One row per cluster; null: a record names no cluster.
select distinct cluster
from sacct
