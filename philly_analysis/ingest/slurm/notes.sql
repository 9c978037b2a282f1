-- Which notes does a Slurm trace need?
-- One row per note.
select
  min(source_file) || case count(distinct source_file)
    when 1 then ''
    when 2 then ' and another file'
    else ' and ' || (count(distinct source_file) - 1)::varchar || ' other files'
  end || ' was passed over: ' || raw as note
from sacct
where fault = 'a file that is no output of sacct'
group by raw
union all
select 'Slurm times are read as UTC: run sacct with TZ=UTC.' as note
union all
select
  'The times of ' || count(*)::varchar || ' files of snapshots, such as ' || min(source_file)
  || ', are ' || format('{:g}', abs(offset_s) / 3600) || ' hours '
  || if(offset_s < 0, 'later', 'earlier')
  || ' than the times of sacct, by their jobs. They were converted. Print both with TZ=UTC.' as note
from snapshot_clocks
where offset_s <> 0
group by offset_s
union all
select
  count(*)::varchar || ' files of snapshots, such as ' || min(source_file)
  || ', have no job that sacct lists: print sacct for their days.' as note
from snapshot_clocks
where jobs > 0 and matched_jobs = 0
having count(*) > 0
union all
select
  count(*)::varchar || ' jobs are in snapshots and not in sacct, which omits jobs that never '
  || 'became eligible. A job that was pending in its last snapshot ended by the next one.' as note
from unlisted_jobs
having count(*) > 0
union all
select
  'A later ingest with --append needs no file of this one: the trace stores their records. Files '
  || 'that were read may be deleted, except those that the cluster still writes.' as note
from snapshot_clocks
having count(*) > 0
union all
select
  'sacct prints exit codes from 128 on less 128, so that 137 is printed as 9: '
  || records::varchar || ' failed attempts have a code and no signal. JSON of Slurm 22.05 has '
  || 'no codes.'
    as note
from record_tallies
where property = 'exit code without signal' and records > 0
union all
select
  records::varchar || ' attempts have the end of a later attempt, as Slurm overwrites it when a '
  || 'finished job is requeued: they count until that requeue.' as note
from record_tallies
where property = 'end overwritten' and records > 0
union all
select
  count(*)::varchar || ' submissions were rejected by Slurm before they waited for resources.'
    as note
from attempts
where end_reason = 'rejected'
having count(*) > 0
union all
select
  'The limits of accounts and QOS are left out: the trace holds several clusters.' as note
from limit_settings
having count(*) > 0 and (select count(distinct cluster) from jobs) > 1
union all
select
  'Limits on ' || string_agg(distinct resource, ', ' order by resource) || ' are not read: limits '
  || 'are compared with the use of GPUs, CPUs, memory, servers and running jobs.' as note
from (
  select split_part(unnest(string_split(value, ',')), '=', 1) as resource
  from limit_settings
  where contains(setting, 'TRES')
) as limited
where resource not in ('gres/gpu', 'cpu', 'mem', 'node') and not starts_with(resource, 'gres/gpu:')
having count(*) > 0
union all
select
  'Numbers of servers are those that jobs requested (ReqTRES), in ' || records::varchar
  || ' records.' as note
from record_tallies
where property = 'servers requested' and records > 0
union all
select
  'Numbers of servers are those that jobs got (NNodes), in ' || records::varchar
  || ' records that lack the requested number (ReqTRES, node). Replays place these jobs on as '
  || 'many servers.' as note
from record_tallies
where property = 'servers allocated' and records > 0
union all
select
  'In these partitions jobs got more servers than they requested, so that a request of one server '
  || 'is a minimum: ' || string_agg(distinct vc, ', ' order by vc) || '.' as note
from minimum_partitions
having count(*) > 0
union all
select 'The column vc is the partition of a job.' as note
union all
select
  'sacct tells the servers of an attempt and its GPUs by model, and not which GPUs of which '
  || 'server: GPUs of a model count as spread evenly over its servers'
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
  records::varchar || ' attempts held parts of GPUs (MIG or shards), each counted as a GPU.'
    as note
from record_tallies
where property = 'parts of GPUs' and records > 0
union all
select
  records::varchar || ' attempts held shards of GPUs that no list of servers sizes: they count '
  || 'as without GPUs.' as note
from record_tallies
where property = 'shards of unknown size' and records > 0
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
