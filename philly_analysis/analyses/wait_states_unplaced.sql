-- How much waiting has each cause, where placements are not known?
-- One row per method, cause, name and gang size.
--   method      how the quota is known, as in wait_causes
--   cause       cause of the wait, as in wait_causes_unplaced
--   name        hold or limit for which the jobs waited; (none): another cause
--   gang        gang-size bucket
--   attempts    attempts that waited for the cause
--   started     attempts that waited for the cause, and started in the end
--   wait_h      hours that attempts waited for the cause
--   gpu_wait_h  hours that attempts waited for the cause, times the GPUs waited for
--   wait_p50_s  median of the seconds that attempts waited for the cause
--   wait_p90_s  90th percentile of the seconds that attempts waited for the cause
select
  c.method,
  c.cause,
  coalesce(c.name, '(none)') as name,
  gang_bucket(q.gpus) as gang,
  count(*) as attempts,
  count(*) filter (where q.outcome = 'started') as started,
  total(c.wait_s) / 3600 as wait_h,
  total(c.wait_s * q.gpus) / 3600 as gpu_wait_h,
  quantile_cont(c.wait_s, 0.5) as wait_p50_s,
  quantile_cont(c.wait_s, 0.9) as wait_p90_s
from wait_causes_unplaced as c
inner join queued_attempts as q using (job_id, attempt)
group by all
order by all
