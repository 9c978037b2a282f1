-- For how long did gangs of each number of GPUs run?
-- One row per number of GPUs, of attempts with trusted times.
--   gpus       GPUs of the attempt
--   attempts   attempts
--   gang_days  days that they ran, added up
select
  gpus,
  count(*) as attempts,
  sum(run_s) / 86400 as gang_days
from attempt_runs
where gpus > 0 and run_s is not null and flag is null
group by gpus
order by all
