-- Which failures of earlier ingests are of attempts that the trace still has?
-- One row per failure, with the present job and number of its attempt. An append may renumber
-- attempts and prefix jobs with the cluster: the scheduler's id, the cluster and the start match.
with earlier as (
  select
    f.*,
    jobs.cluster,
    coalesce(jobs.scheduler_id, jobs.job_id) as id,
    attempts.started_at
  from earlier_failures as f
  inner join earlier_attempts as attempts using (job_id, attempt)
  inner join earlier_jobs as jobs using (job_id)
),

present as (
  select
    job_id,
    attempts.attempt,
    attempts.started_at,
    jobs.cluster,
    coalesce(jobs.scheduler_id, job_id) as id
  from attempts
  inner join jobs using (job_id)
)

select
  present.job_id,
  present.attempt,
  earlier.reason,
  earlier.tier,
  earlier.fine,
  earlier.rule,
  earlier.line,
  earlier.excerpt
from earlier
inner join present
  on
    earlier.id = present.id
    and earlier.cluster is not distinct from present.cluster
    and earlier.started_at is not distinct from present.started_at
qualify row_number() over (
  partition by earlier.job_id, earlier.attempt
  order by present.attempt <> earlier.attempt, present.attempt
) = 1
