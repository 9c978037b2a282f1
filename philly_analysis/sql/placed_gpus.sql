-- materialized
-- Which GPU did each attempt have, from when to when, and did another attempt have it meanwhile?
-- One row per GPU of an attempt whose start and end are known, where the index of the GPU is known.
--   placement     number of the row, from 1 in the order of starts and of the next four columns
--   job_id        identifier of the job
--   attempt       number of the attempt within its job, from 1
--   machine_id    identifier of the server
--   gpu           index of the GPU in its server, from 0
--   from_at       start of the attempt; where readings stand for whole minutes (whole_minutes), the
--                 minute of the start. Readings of the GPU belong to the attempt from this time
--   until_at      end of the attempt; where readings stand for whole minutes, the end of the last
--                 minute. Readings of the GPU belong to the attempt until this time
--   expected_min  minutes from from_at to until_at, in which readings are expected
--   attribution   gpu_exact: the GPU's samples are this attempt's; gpu_shared: another attempt had
--                 the same GPU meanwhile, so that the samples are ambiguous
with held as (
  select
    p.job_id,
    p.attempt,
    p.machine_id,
    p.gpu,
    a.started_at,
    a.ended_at
  from indexed_gpus as p
  inner join attempts as a
    on p.job_id = a.job_id and p.attempt = a.attempt
  where a.started_at is not null and a.ended_at is not null
),

met as (
  -- an attempt of no length overlaps with none
  select
    job_id,
    attempt,
    machine_id,
    gpu,
    coalesce(max(ended_at) over before_it > started_at, false)
    or coalesce(min(started_at) over after_it < ended_at, false) as shared
  from held
  where ended_at > started_at
  window
    before_it as (
      partition by machine_id, gpu
      order by started_at, ended_at, job_id, attempt
      rows between unbounded preceding and 1 preceding
    ),
    after_it as (
      partition by machine_id, gpu
      order by started_at, ended_at, job_id, attempt
      rows between 1 following and 1 following
    )
)

select
  -- by start, so that later attempts do not change the numbers of attempts of past weeks; rows come
  -- in this order, so that sums over readings are the same in each run
  row_number() over (
    order by h.started_at, h.job_id, h.attempt, h.machine_id, h.gpu
  )::integer as placement,
  h.job_id,
  h.attempt,
  h.machine_id,
  h.gpu,
  if(whole_minutes.whole, date_trunc('minute', h.started_at), h.started_at) as from_at,
  if(whole_minutes.whole, minute_end(h.ended_at), h.ended_at) as until_at,
  seconds_between(from_at, until_at) / 60 as expected_min,
  case when coalesce(met.shared, false) then 'gpu_shared' else 'gpu_exact' end as attribution
from held as h
cross join whole_minutes
left join met
  on
    h.job_id = met.job_id
    and h.attempt = met.attempt
    and h.machine_id = met.machine_id
    and h.gpu = met.gpu
