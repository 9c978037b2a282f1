-- How long were the GPUs of each attempt idle without a break, and did they compute afterwards?
-- One row per period of an hour or more in which no GPU of an attempt was above 0 %. Readings more
-- than an hour apart end a period.
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   idle_s   seconds from the attempt's start to the first reading of the period
--   until_s  seconds from the attempt's start to the last reading of the period
--   resumed  true when a later reading of the attempt is above 0 %
with idle_attempts as (
  select
    u.job_id,
    u.attempt,
    a.started_at
  from attempt_use as u
  inner join attempts as a using (job_id, attempt)
  where u.idle_min >= 60 * u.gpus and u.flag is null
),

held_gpus as (
  select
    p.job_id,
    p.attempt,
    p.machine_id,
    any_value(idle_attempts.started_at) as started_at,
    any_value(p.from_at) as from_at,
    any_value(p.until_at) as until_at,
    list(p.gpu) as gpus
  from placed_gpus as p
  inner join idle_attempts using (job_id, attempt)
  where p.attribution = 'gpu_exact'
  group by p.job_id, p.attempt, p.machine_id
),

held_days as (
  select
    *,
    unnest(generate_series(from_at::date, until_at::date, interval 1 day))::date as day
  from held_gpus
),

readings as (
  select
    h.job_id,
    h.attempt,
    any_value(h.started_at) as started_at,
    s.sampled_at,
    max(list_max(list_transform(h.gpus, lambda gpu: s.util_pct[gpu + 1]))) > 0 as busy
  from held_days as h
  inner join gpu_samples as s
    on
      h.machine_id = s.machine_id
      and h.day = s.sampled_at::date
      and h.from_at <= s.sampled_at
      and h.until_at > s.sampled_at
  group by h.job_id, h.attempt, s.sampled_at
),

readings_with_breaks as (
  select
    *,
    busy or sampled_at - lag(sampled_at) over attempt_readings > interval 1 hour as ends
  from readings
  where busy is not null
  window attempt_readings as (partition by job_id, attempt order by sampled_at)
),

readings_by_period as (
  select
    *,
    count(*) filter (ends) over (partition by job_id, attempt order by sampled_at) as period,
    max(sampled_at) filter (busy) over (partition by job_id, attempt) as last_busy_at
  from readings_with_breaks
)

select
  job_id,
  attempt,
  seconds_between(any_value(started_at), min(sampled_at)) as idle_s,
  seconds_between(any_value(started_at), max(sampled_at)) as until_s,
  coalesce(any_value(last_busy_at) > max(sampled_at), false) as resumed
from readings_by_period
where not busy
group by job_id, attempt, period
having max(sampled_at) - min(sampled_at) >= interval 1 hour
