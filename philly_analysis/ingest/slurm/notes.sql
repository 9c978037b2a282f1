-- Which notes does a Slurm trace need?
-- One row per note.
select distinct source_file || ' was passed over: ' || raw as note
from sacct
where fault = 'a file that is no output of sacct'
union all
select 'Slurm times are read as UTC: run sacct with TZ=UTC.' as note
union all
select 'A virtual cluster is a partition.' as note
union all
select
  'sacct tells the servers of an attempt and its GPUs by model, and not which GPUs of which '
  || 'server: those of a model count as spread evenly over its servers'
  || case
    when count(*) filter (gpus is null) > 0
      then
        ', and as not known on each for the '
        || count(distinct row(job_id, attempt)) filter (gpus is null)::varchar
        || ' attempts whose GPUs do not divide by their servers'
    else ''
  end
  || '.' as note
from placements
union all
select
  'No list of servers was given (scontrol show node -o): a server''s GPUs are the most that jobs '
  || 'held on it at once.' as note
from machines
having count(gpus_listed) = 0
union all
select
  count(*) filter (gpus = 0)::varchar || ' of ' || count(*)::varchar || ' jobs asked for no GPU.'
    as note
from jobs
having count(*) filter (gpus = 0) > 0
union all
select
  count(*)::varchar || ' attempts held parts of GPUs (MIG or shards), each counted as a GPU.'
    as note
from allocations
where gpu_frac is not null
having count(*) > 0
union all
select
  count(*)::varchar || ' attempts held shards of GPUs that no list of servers sizes: they count '
  || 'as without GPUs.' as note
from allocations
where shards > 0 and gpus = 0
having count(*) > 0
union all
select
  count(*)::varchar || ' jobs are components of heterogeneous jobs, each a job of its own here.'
    as note
from jobs
where scheduler_id like '%+%'
having count(*) > 0
union all
select
  'The trace holds ' || count(distinct cluster)::varchar || ' clusters: the name of its cluster '
  || 'stands before each job number, partition and server.' as note
from jobs
having count(distinct cluster) > 1
