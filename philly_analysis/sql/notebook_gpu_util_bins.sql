-- stored by week of gpu_samples
-- How busy are GPUs in the way in which the Philly archive's notebook counts it?
-- One row per (week, gpus, status, dedicated, bin).
--   week       Monday of the week of the samples, UTC
--   gpus       GPUs of the job's first attempt: 1, 4, 8 or 16, others left out
--   status     how the job ended
--   dedicated  true when the attempt has no more placement entries than GPUs over eight
--   bin        utilisation rounded up to whole percent: 0 is idle, k is above k - 1 and up to k
--   minutes    GPU-minutes with a reading; a GPU held twice counts twice
--   sum_pct    sum of the readings, in % times minutes
--
-- The notebook takes job times (UTC) and sample times (US Pacific) for one clock and matches
-- minutes as equal strings; here the samples' UTC is put back to Pacific wall time to do the same.
-- When the hour of 2017-11-05 repeats, its second pass overwrites the first.
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
  inner join firsts
    on p.job_id = firsts.job_id and p.attempt = firsts.attempt
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

days as (
  select
    f.gpus,
    jobs.status,
    entries.entries <= f.gpus / 8 as dedicated,
    p.machine_id,
    p.gpu + 1 as place,
    date_trunc('minute', a.started_at) as from_at,
    a.ended_at as until_at,
    unnest(range(date_trunc('day', from_at), until_at, interval 1 day)) as day
  from attempts as a
  inner join jobs
    on a.job_id = jobs.job_id
  inner join first_attempts as f
    on a.job_id = f.job_id
  inner join entries
    on a.job_id = entries.job_id and a.attempt = entries.attempt
  inner join placements as p
    on a.job_id = p.job_id and a.attempt = p.attempt
  where f.gpus in (1, 4, 8, 16) and a.started_at is not null and a.ended_at is not null
),

overwriting as (
  select
    s.machine_id,
    s.sampled_at - interval 1 hour as overwritten_at
  from gpu_samples as s
  where
    s.sampled_at >= timestamp '2017-11-05 09:00:00'
    and s.sampled_at < timestamp '2017-11-05 10:00:00'
),

strings as (
  select
    date_trunc('week', s.sampled_at)::timestamp as week,
    s.machine_id,
    s.util_pct,
    case
      when s.sampled_at < timestamp '2017-11-05 09:00:00' then s.sampled_at - interval 7 hour
      else s.sampled_at - interval 8 hour
    end as pacific_at
  from gpu_samples as s
  left join overwriting as o
    on s.machine_id = o.machine_id and s.sampled_at = o.overwritten_at
  where o.machine_id is null
),

readings as (
  select
    s.week,
    days.gpus,
    days.status,
    days.dedicated,
    s.util_pct[days.place] as util_pct
  from strings as s
  inner join days
    on s.machine_id = days.machine_id and date_trunc('day', s.pacific_at) = days.day
  where s.pacific_at >= days.from_at and s.pacific_at < days.until_at
)

select
  week,
  gpus,
  status,
  dedicated,
  ceil(util_pct)::tinyint as bin,
  count(*) as minutes,
  sum(util_pct) as sum_pct
from readings
where util_pct is not null
group by all
