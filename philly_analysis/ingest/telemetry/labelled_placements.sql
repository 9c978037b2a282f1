-- How do the GPUs by labels compare with the placements of the job log?
-- One row per attempt and server with labels.
--   job_id      job
--   attempt     which attempt, from 1
--   machine_id  server
--   gpus        indices of the GPUs by the labels
--   rest        further GPUs of the attempt on the server, with unknown indices
--   outcome     known: the log has the GPUs; added: the labels add indices of GPUs; placed: only
--               the labels have a placement; other: the labels contradict the log, and the log
--               counts; unclear: the labels do not account for the attempt's GPUs
with labelled as (
  select
    job_id,
    attempt,
    machine_id,
    list(gpu order by gpu) as gpus,
    any_value(placed) as placed
  from labelled_gpus
  group by job_id, attempt, machine_id
),

placed as (
  select
    job_id,
    attempt,
    machine_id,
    coalesce(list(gpu) filter (gpu is not null), []) as gpus,
    count(*) filter (gpu is null) as unknown,
    -- a server has at most one row without an index
    any_value(gpus) filter (gpu is null) as unknown_gpus
  from placements
  group by job_id, attempt, machine_id
),

gpu_lists as (
  select
    l.*,
    p.gpus as known_gpus,
    p.unknown,
    p.unknown_gpus,
    len(l.gpus) as seen,
    coalesce(attempts.gpus, jobs.gpus) as allocated,
    sum(len(l.gpus)) over (partition by l.job_id, l.attempt) as seen_anywhere
  from labelled as l
  inner join attempts
    on l.job_id = attempts.job_id and l.attempt = attempts.attempt
  inner join jobs
    on l.job_id = jobs.job_id
  left join placed as p
    on l.job_id = p.job_id and l.attempt = p.attempt and l.machine_id = p.machine_id
)

select
  job_id,
  attempt,
  machine_id,
  gpus,
  case
    when placed is null and coalesce(allocated = seen_anywhere, true) then 'placed'
    when placed is null then 'unclear'
    when not placed then 'other'
    when unknown = 0 and list_has_all(known_gpus, gpus) then 'known'
    when unknown = 0 or len(known_gpus) > 0 or seen > unknown_gpus then 'other'
    when unknown_gpus >= seen or allocated = seen_anywhere then 'added'
    else 'unclear'
  end as outcome,
  case when outcome = 'added' then nullif(greatest(coalesce(unknown_gpus, seen) - seen, 0), 0) end
    as rest
from gpu_lists
