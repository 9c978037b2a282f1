-- How long did each job run, and what did it cost?
-- One row per job in gpu_jobs.
--   job_id            job
--   vc                virtual cluster
--   user              who submitted it
--   gpus              gang size
--   status            how it ended
--   submitted_at      when it was submitted
--   first_started_at  first start of its attempts
--   last_ended_at     last end of its attempts; null: still running, or unknown
--   attempts          attempts that it made
--   span_s            first start to last end: waits between attempts are in it
--   sum_s             sum of its attempts, those without an end left out
--   last_s            its last attempt
--   run_s             the one of the three that the trace was opened with (run_policy)
--   censored          true when it still ran as the log ended: the four times are lower bounds
--   gpu_h             GPU hours allocated, over attempts with known times; a part of a GPU counts
--                     in part
--   flag              why its times are not trusted; null: nothing known
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
