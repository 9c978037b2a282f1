-- What share of its GPUs' time did each job use, minute by minute?
-- One row per (job, minute) with a reading of one of its GPUs.
--   job_id     identifier of the job
--   minute_at  minute
--   gpu_frac   mean utilisation of the job's GPUs that were read, 0 to 1
--
-- A reading that stands for longer than a minute counts in each minute up to its end.
with held as (
  select
    placements.job_id,
    placements.machine_id,
    placements.gpu,
    attempts.started_at,
    coalesce(attempts.ended_at, (select ended_at from snapshot)) as ended_at
  from placements
  inner join attempts using (job_id, attempt)
  where attempts.started_at is not null and placements.gpu is not null
),

-- one row per hour that an attempt touches, so that the join with the samples has a bucket
hours as (
  select
    *,
    unnest(
      generate_series(date_trunc('hour', started_at), ended_at, interval 1 hour)
    ) as hour
  from held
),

readings as (
  select
    machine_id,
    date_trunc('minute', sampled_at) + to_minutes(
      unnest(range(ceil(coalesce(seconds / 60, 1))::bigint))
    ) as minute_at,
    date_trunc('hour', minute_at) as hour,
    util_pct
  from gpu_samples
)

select
  hours.job_id,
  readings.minute_at,
  avg(readings.util_pct[hours.gpu + 1]) / 100 as gpu_frac
from hours
inner join readings
  on hours.machine_id = readings.machine_id and hours.hour = readings.hour
where
  readings.minute_at >= hours.started_at
  and readings.minute_at < hours.ended_at
  and readings.util_pct[hours.gpu + 1] is not null
group by hours.job_id, readings.minute_at
order by all
