-- For how many days did gangs run, by number of GPUs?
-- One row per number of GPUs, over attempts with trusted times.
--   gpus       GPUs of the attempt
--   attempts   attempts
--   gang_days  total days that the attempts ran
select
  gpus,
  count(*) as attempts,
  total(run_s) / 86400 as gang_days
from attempt_runs
where gpus > 0 and run_s is not null and flag is null
group by gpus
order by all
