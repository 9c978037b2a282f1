-- stored by week of gpu_samples
-- How busy are GPUs in the way in which the Philly archive's notebook counts it?
-- One row per (week, gpus, status, dedicated, bin).
--   week       Monday of the week in which the readings began, UTC
--   gpus       GPUs of the job's first attempt: 1, 4, 8 or 16, others left out
--   status     how the job ended
--   dedicated  true when the attempt has no more placement entries than GPUs over eight
--   bin        utilisation rounded up to whole percent: 0 is idle, k is above k - 1 and up to k
--   minutes    GPU-minutes that the readings stand for; a GPU held twice counts twice
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
    epoch_us(date_trunc('minute', a.started_at)) as from_us,
    epoch_us(minute_end(a.ended_at)) as until_us,
    unnest(
      range(date_trunc('day', a.started_at - longest), minute_end(a.ended_at), interval 1 day)
    ) as day
  from attempts as a
  inner join jobs
    on a.job_id = jobs.job_id
  inner join first_attempts as f
    on a.job_id = f.job_id
  inner join entries
    on a.job_id = entries.job_id and a.attempt = entries.attempt
  inner join placements as p
    on a.job_id = p.job_id and a.attempt = p.attempt
  cross join longest_gpu_reading
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
    s.seconds,
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
    week,
    machine_id,
    util_pct,
    date_trunc('day', pacific_at) as day,
    epoch_us(pacific_at) as from_us,
    reading_until(pacific_at, seconds) as until_us
  from strings
),

held as (
  select
    r.week,
    days.gpus,
    days.status,
    days.dedicated,
    r.util_pct[days.place] as util_pct,
    shared_min(r.from_us, r.until_us, days.from_us, days.until_us) as minutes
  from readings as r
  inner join days
    on r.machine_id = days.machine_id and r.day = days.day
  where r.until_us > days.from_us and r.from_us < days.until_us
)

select
  week,
  gpus,
  status,
  dedicated,
  ceil(util_pct)::tinyint as bin,
  sum(minutes) as minutes,
  sum(util_pct * minutes) as sum_pct
from held
where util_pct is not null
group by all
