-- by job_id
-- How long did each job run, and how many GPU hours did the job take?
-- One row per job in gpu_jobs.
--   job_id            identifier of the job
--   vc                virtual cluster
--   user              user who submitted the job
--   gpus              gang size
--   status            status with which the job ended
--   submitted_at      time at which the job was submitted
--   first_started_at  first start of the job's attempts
--   last_ended_at     last end of the job's attempts; null: still running, or not known
--   attempts          attempts of the job
--   span_s            seconds from the first start to the last end, waits between attempts included
--   sum_s             seconds that the job's attempts ran in sum; attempts without an end do not
--                     count
--   last_s            seconds that the job's last attempt ran
--   run_s             run time in seconds under the trace's run policy: span_s, sum_s or last_s
--   censored          true when the job was still running at the end of the log: run_s, span_s,
--                     sum_s and last_s are lower bounds
--   gpu_h             GPU hours allocated to the attempts with known times; a share of a GPU counts
--                     as that share
--   flag              reason for which the times are not trusted; null: the times are trusted
select
  t.job_id,
  t.vc,
  t.user,
  t.gpus,
  t.status,
  t.submitted_at,
  t.first_started_at,
  t.last_ended_at,
  t.attempts,
  t.span_s,
  t.sum_s,
  t.last_s,
  case settings.run_policy
    when 'span' then t.span_s
    when 'sum' then t.sum_s
    when 'last' then t.last_s
  end as run_s,
  t.censored,
  t.gpu_h,
  t.flag
from job_times as t
cross join settings
