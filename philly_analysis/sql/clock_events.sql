-- materialized
-- Which starts and ends of attempts show whether samples and jobs have the same clock?
-- One row per event: 200 starts and 200 ends a week, drawn by a hash of job and attempt. Only
-- attempts of ten minutes or longer are drawn, each with one GPU to watch.
--   number      number of the row, from 1
--   week        Monday of the week of the event
--   event       kind of event: start or end
--   event_at    minute of the event by the job log
--   machine_id  first server of the attempt
--   gpu         first GPU of the attempt on this server
with first_gpus as (
  select
    job_id,
    attempt,
    machine_id,
    gpu
  from indexed_gpus
  qualify row_number() over (partition by job_id, attempt order by machine_id, gpu) = 1
),

events as (
  select
    job_id,
    attempt,
    unnest(['start', 'end']) as event,
    date_trunc('minute', unnest([started_at, ended_at])) as event_at,
    date_trunc('week', event_at)::timestamp as week
  from attempts
  where ended_at >= started_at + interval 10 minute
),

events_with_gpus as (
  select
    e.*,
    g.machine_id,
    g.gpu
  from events as e
  inner join first_gpus as g using (job_id, attempt)
  qualify
    row_number() over (
      partition by e.week, e.event
      order by md5(e.job_id || ' ' || e.attempt::varchar), e.job_id, e.attempt
    ) <= 200
)

select
  row_number() over (order by job_id, attempt, event)::integer as number,
  week,
  event,
  event_at,
  machine_id,
  gpu
from events_with_gpus
