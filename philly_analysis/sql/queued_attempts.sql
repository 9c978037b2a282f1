-- materialized by job_id
-- Which attempts of known gang waited from a known and trusted moment, and until when?
-- One row per attempt of the jobs in gpu_jobs that started. Where the log has times at which jobs
-- became eligible, attempts that were given up, or waited as the log ended, have a row too.
--   job_id       identifier of the job
--   attempt      number of the attempt within its job, from 1
--   account      account
--   vc           virtual cluster or partition
--   user         user who submitted the job
--   gpus         gang size
--   first        true for the first attempt, false for a retry
--   outcome      started; given up: the attempt ended without a start; waiting: the attempt waited
--                as the log ended
--   since_at     submission, or the end of the attempt before
--   until_at     start, end, or end of the log
--   wait_s       seconds from since_at to until_at
--   held_s       seconds of the wait before the job was eligible; the whole wait of an attempt that
--                never started and whose last reason is a hold
--   eligible_us  end of held_s: microseconds since 1970
--   until_us     until_at: microseconds since 1970
--   reason       reason that the scheduler stated last; null: none
--   cause        cause that the last stated reason means, as in wait_reasons
with waiting as (
  select
    a.job_id,
    a.attempt,
    jobs.account,
    jobs.vc,
    jobs.user,
    jobs.gpus,
    a.started_at,
    row_number() over in_order = 1 as first,
    case
      when a.started_at is not null then 'started'
      when a.ended_at is null then 'waiting'
      else 'given up'
    end as outcome,
    case when first then jobs.submitted_at else lag(a.ended_at) over in_order end as since_at,
    coalesce(a.started_at, a.ended_at, snapshot.ended_at) as until_at,
    coalesce(a.eligible_at, jobs.eligible_at) as eligible_at,
    a.wait_reason as reason,
    a.run_s,
    coalesce(a.flag, jobs.flag) as flag
  from attempts as a
  inner join gpu_jobs as jobs using (job_id)
  cross join snapshot
  window in_order as (partition by a.job_id order by a.attempt)
),

timed as (
  select
    w.* exclude (started_at, run_s, flag),
    s.cause,
    epoch_us(w.since_at) as since_us,
    epoch_us(w.until_at) as until_us,
    case
      when w.started_at is null and s.cause = 'held' then until_us
      else greatest(since_us, least(coalesce(epoch_us(w.eligible_at), since_us), until_us))
    end as eligible_us
  from waiting as w
  cross join eligible_times
  left join stated_reasons as s using (reason)
  -- an attempt without a start may have run where the log has no times of eligibility
  where
    (w.started_at is not null or (w.run_s is null and eligible_times.recorded))
    and w.until_at >= w.since_at
    and w.flag is null
    and w.gpus is not null
)

select
  job_id,
  attempt,
  account,
  vc,
  "user",
  gpus,
  first,
  outcome,
  since_at,
  until_at,
  (until_us - since_us) / 1e6 as wait_s,
  (eligible_us - since_us) / 1e6 as held_s,
  eligible_us,
  until_us,
  reason,
  cause
from timed
