-- GPUs that Slurm's attempts held, by server: sacct tells the servers and not which of their GPUs,
-- unless scontrol did while they ran, or jobstats summed them up one by one.
-- One row per attempt that started with GPUs and server, and GPU where it is known which.
with shown as (
  select distinct
    r.job_id,
    r.attempt,
    running.node,
    running.gpu
  from records as r
  inner join node_lists using (node_list)
  inner join running
    on
      regexp_replace(r.job_id[len(r.prefix) + 1:], '@.*$', '') = running.id
      and r.started_at = slurm_time(running.start)
      and node_lists.node = running.node
  where r.reject is null
),

summed_up as (
  select distinct
    r.job_id,
    r.attempt,
    s.node,
    s.gpu::integer as gpu
  from records as r
  inner join jobstats as s
    on r.summary = s.admin_comment
  where r.reject is null and s.gpu is not null
),

told as (
  select
    job_id,
    attempt,
    node,
    list(gpu order by gpu) as gpus,
    true as exact
  from shown
  group by job_id, attempt, node
  union all
  select
    job_id,
    attempt,
    node,
    list(gpu order by gpu) as gpus,
    false as exact
  from summed_up
  anti join shown using (job_id, attempt, node)
  group by job_id, attempt, node
),

known as (
  -- those of a summary are all of them only if they are as many as it held
  select
    shares.*,
    case
      when len(told.gpus) = shares.gpus or (told.exact and shares.gpus is null) then told.gpus
    end as indices
  from shares
  left join told
    on shares.job_id = told.job_id and shares.attempt = told.attempt and shares.node = told.node
)

select
  job_id,
  attempt,
  prefix || node as machine_id,
  unnest(coalesce(indices, [null])) as gpu,
  case when indices is null then gpus else 1 end as gpus,
  source_file,
  source_line,
  node_list as raw,
  null::varchar as reject
from known
