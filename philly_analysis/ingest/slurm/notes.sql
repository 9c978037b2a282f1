-- What a reader of a Slurm trace should know.
-- One row per note.
select 'Slurm times are read as UTC: run sacct with TZ=UTC.' as note
union all
select 'A virtual cluster is a partition.' as note
union all
select
  'A server''s GPUs are the most that jobs held on it at once: sacct does not tell its size, nor '
  || 'which GPU a job held, so there are no placements.' as note
union all
select
  count(*) filter (gpus = 0)::varchar || ' of ' || count(*)::varchar || ' jobs asked for no GPU.'
    as note
from jobs
having count(*) filter (gpus = 0) > 0
