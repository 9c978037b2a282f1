-- Which GPUs were allocated to Slurm's attempts? sacct lists servers; scontrol, printed while jobs
-- run, and jobstats list the indices of GPUs.
-- One row per attempt that started with GPUs and server, and per GPU where its indices are known.
with from_scontrol as (
  select distinct
    r.job_id,
    r.attempt,
    running.node,
    running.gpu
  from records as r
  inner join node_lists using (node_list)
  inner join running
    on r.id = running.id and node_lists.node = running.node
  inner join snapshot_clocks as clocks
    on running.source_file = clocks.source_file
  where
    r.reject is null
    and r.started_at = slurm_time(running.start) + to_seconds(clocks.offset_s)
    and coalesce(r.cluster = clocks.cluster, true)
),

from_jobstats as (
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

listed as (
  select
    job_id,
    attempt,
    node,
    list(gpu order by gpu) as gpus,
    true as exact
  from from_scontrol
  group by job_id, attempt, node
  union all
  select
    job_id,
    attempt,
    node,
    list(gpu order by gpu) as gpus,
    false as exact
  from from_jobstats
  anti join from_scontrol using (job_id, attempt, node)
  group by job_id, attempt, node
),

complete as (
  -- the GPUs of a summary are complete only if their number is that allocated
  select
    shares.*,
    case
      when len(listed.gpus) = shares.gpus or (listed.exact and shares.gpus is null)
        then listed.gpus
    end as indices
  from shares
  left join listed using (job_id, attempt, node)
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
from complete
