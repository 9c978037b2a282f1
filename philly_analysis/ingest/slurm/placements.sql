-- GPUs that Slurm's attempts held, by server: sacct tells the servers and not which of their GPUs,
-- unless jobstats summed them up one by one.
-- One row per attempt that started with GPUs and server, and GPU where it is known which.
with summed_up as (
  select
    r.job_id,
    r.attempt,
    s.node,
    list(s.gpu order by s.gpu) as indices
  from records as r
  inner join jobstats as s
    on r.summary = s.admin_comment
  where r.reject is null and s.gpu is not null
  group by all
)

select
  shares.job_id,
  shares.attempt,
  shares.prefix || shares.node as machine_id,
  unnest(
    case when len(s.indices) = shares.gpus then s.indices::integer[] else [null::integer] end
  ) as gpu,
  case when len(s.indices) = shares.gpus then 1 else shares.gpus end as gpus,
  shares.source_file,
  shares.source_line,
  shares.node_list as raw,
  null::varchar as reject
from shares
left join summed_up as s
  on shares.job_id = s.job_id and shares.attempt = s.attempt and shares.node = s.node
