-- binned by week of gpu_samples
-- How many GPU-minutes have each utilisation, by the archive notebook's definition?
-- One row per (gpus, status, dedicated, week, bin).
--   gpus       GPUs of the job's first attempt: 1, 4, 8 or 16
--   status     status with which the job ended
--   dedicated  true when the attempt has at most one placement entry per eight GPUs
--   week       Monday of the week in which the readings begin, UTC
--   bin        utilisation in whole percent: 0 is idle, k is above k - 1 and at most k; null:
--              offline, which the notebook excludes
--   minutes    GPU-minutes that the readings cover; a GPU allocated twice counts twice
--   sum_pct    sum of the utilisation readings, in % times minutes; null: offline
--
-- The notebook treats job times (UTC) and sample times (US Pacific) as one clock, and matches
-- minutes as equal strings. An attempt therefore gets the readings of seven hours later, and of
-- eight hours later after the end of summer time. The hour of 2017-11-05 that repeats counts with
-- its second pass; readings of the first pass count only for minutes that the second pass lacks.
with firsts as (
  select
    job_id,
    min(attempt) as attempt
  from attempts
  group by job_id
),

first_attempts as (
  select
    p.job_id,
    count(*) as gpus
  from placements as p
  inner join firsts using (job_id, attempt)
  group by p.job_id
),

entries as (
  select
    job_id,
    attempt,
    count(*) as entries
  from (select distinct job_id, attempt, machine_id, container from placements) as one
  group by job_id, attempt
),

held as (
  select
    f.gpus,
    jobs.status,
    entries.entries <= f.gpus / 8 as dedicated,
    p.machine_id,
    p.gpu + 1 as place,
    date_trunc('minute', a.started_at) as from_at,
    minute_end(a.ended_at) as until_at
  from attempts as a
  inner join jobs using (job_id)
  inner join first_attempts as f using (job_id)
  inner join entries using (job_id, attempt)
  inner join placements as p using (job_id, attempt)
  where
    f.gpus in (1, 4, 8, 16)
    and p.gpu is not null
    and a.started_at is not null
    and a.ended_at is not null
),

repeated as (
  select
    machine_id,
    sampled_at,
    seconds
  from gpu_samples
  where
    sampled_at >= timestamp '2017-11-05 08:00:00' and sampled_at < timestamp '2017-11-05 10:00:00'
),

clocks as (
  select
    machine_id,
    unnest([7, 8]) as behind_h,
    unnest([timestamp '1970-01-01', timestamp '2017-11-05 09:00:00']) as from_at,
    unnest([timestamp '2017-11-05 08:00:00', timestamp '2200-01-01']) as until_at
  from (select distinct machine_id from placements) as one
  union all by name
  select
    first.machine_id,
    7 as behind_h,
    first.sampled_at as from_at,
    least(
      first.sampled_at + coalesce(first.seconds, 60) * interval 1 second,
      timestamp '2017-11-05 09:00:00'
    ) as until_at
  from repeated as first
  anti join repeated as second
    on
      first.machine_id = second.machine_id
      and second.sampled_at = first.sampled_at + interval 1 hour
  where first.sampled_at < timestamp '2017-11-05 09:00:00'
)

select
  held.gpus,
  held.status,
  held.dedicated,
  held.machine_id,
  held.place,
  greatest(held.from_at + to_hours(clocks.behind_h), clocks.from_at) as from_at,
  least(held.until_at + to_hours(clocks.behind_h), clocks.until_at) as until_at
from held
inner join clocks
  on
    held.machine_id = clocks.machine_id
    and held.from_at + to_hours(clocks.behind_h) < clocks.until_at
    and held.until_at + to_hours(clocks.behind_h) > clocks.from_at
