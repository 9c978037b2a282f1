-- How many GPU hours did each account and user leave idle?
-- One row per account, user, virtual cluster and week with GPU hours that have a reading.
--   account        account of the job; (none): not recorded
--   user           user; (none): not recorded
--   vc             virtual cluster or partition; (none): not recorded
--   week           Monday of the week, UTC
--   sampled_gpu_h  GPU hours that have a utilisation reading, divided over the attempt's weeks in
--                  proportion to its time
--   idle_gpu_h     GPU hours with a reading of exactly 0 %
select
  w.account,
  w.user,
  w.vc,
  w.week,
  total(used.minutes * w.part) / 60 as sampled_gpu_h,
  total(used.idle_min * w.part) / 60 as idle_gpu_h
from attempt_weeks as w
inner join attempt_use as used using (job_id, attempt)
where used.minutes > 0
group by all
order by all
