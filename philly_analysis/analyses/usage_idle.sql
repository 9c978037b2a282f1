-- How many GPU hours did each account and user leave idle?
-- One row per account, user, virtual cluster and week with GPU hours of which there are readings.
--   account         account; (none): not known
--   user            user; (none): not known
--   vc              virtual cluster or partition; (none): not known
--   week            Monday of the week, UTC
--   sampled_gpu_h   GPU hours with a reading; those of an attempt are divided over its weeks as
--                   its time is
--   idle_gpu_h      of these, at exactly 0 %
select
  w.account,
  w.user,
  w.vc,
  w.week,
  sum(used.minutes * w.part) / 60 as sampled_gpu_h,
  sum(used.idle_min * w.part) / 60 as idle_gpu_h
from attempt_weeks as w
inner join attempt_use as used using (job_id, attempt)
where used.minutes > 0
group by all
order by all
