-- How many jobs pass after a retry?
-- One row per (user, day, ended), over jobs on GPUs with at least two attempts and a known status.
--   user    user who submitted the job
--   day     day on which the job was submitted, UTC
--   ended   end of the job's first attempt: failed, server (a server failed), moved (preempted,
--           requeued, migrated or resized), or other (not known included)
--   jobs    jobs
--   passed  jobs that passed
with firsts as (
  select
    job_id,
    arg_min(coalesce(end_reason, 'other'), attempt) as ended
  from attempts
  group by job_id
)

select
  runs.user,
  runs.submitted_at::date as day,
  case
    when firsts.ended in ('failed', 'out_of_memory') then 'failed'
    when firsts.ended = 'node_failure' then 'server'
    when firsts.ended in ('preempted', 'requeued', 'migrated', 'resized') then 'moved'
    else 'other'
  end as ended,
  count(*) as jobs,
  count(*) filter (where passed(runs.status)) as passed
from job_runs as runs
inner join firsts using (job_id)
where runs.attempts > 1 and runs.status is not null and runs.gpus is not null
group by all
order by all
