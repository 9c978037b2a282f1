-- Which notes does the trace of an accounting log need?
-- One row per note.
with listed_resources as (
  select name
  from accounting_settings
)

select 'The column vc is the queue of a job.' as note
union all
select
  'No list of servers was given: a server''s GPUs are the most that jobs held on it at once.'
    as note
from machines
having count(*) > 0 and count(gpus_listed) = 0
union all
select
  count(*) filter (gpus = 0)::varchar || ' of ' || count(*)::varchar || ' jobs asked for no GPU.'
    as note
from jobs
having count(*) filter (gpus = 0) > 0
union all
select
  'The log does not name all servers of ' || count(*)::varchar || ' attempts in parallel '
  || 'environments: they have no placements. The output of qconf -sp shows which use one server.'
    as note
from allocations
where gpus > 0 and started_at is not null and servers is null and in_environment
having count(*) > 0
union all
select
  'Requests of ' || gpu_resource || ' count once per job: the output of qconf -sc shows whether '
  || 'they count per slot.' as note
from records
where
  gpus_per_slot > 0
  and reject is null
  and gpu_resource not in (from listed_resources)
group by gpu_resource
union all
select
  'GPUs of LSF''s requirements count per server, as without RESOURCE_RESERVE_PER_TASK.' as note
from records
where gpus_per_slot is null and gpus > 0 and starts_with(raw, '"JOB_FINISH"')
having count(*) > 0
union all
select
  'How ' || count(*)::varchar || ' attempts ended is not recorded: a signal ended them, from '
  || 'their user, a limit or their own program.' as note
from records
where reject is null and started_s is not null and ended_s is not null and end_reason is null
having count(*) > 0
