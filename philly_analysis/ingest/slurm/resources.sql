-- materialized
-- Which resources are in Slurm's lists of trackable resources?
-- One row per distinct list, with the list's CPUs, memory, GPUs, shards of GPUs, GPU models with
-- the number of GPUs per model, and servers. Memory is in GB (10^9 bytes; sacct counts in 1024s).
-- The number of GPUs is the generic count, else the sum of the typed counts.
with lists as (
  select distinct unnest([alloctres, reqtres, 'mem=' || reqmem]) as tres
  from sacct
  union
  select distinct tres
  from job_states
),

parsed as (
  select
    tres,
    try_cast(nullif(regexp_extract(tres, '(?:^|,)cpu=([0-9]+)', 1), '') as double) as cpus,
    try_cast(nullif(regexp_extract(tres, '(?:^|,)mem=([0-9.]+)', 1), '') as double) as mem,
    regexp_extract(tres, '(?:^|,)mem=[0-9.]+([KMGTP]?)', 1) as mem_unit,
    try_cast(nullif(regexp_extract(tres, '(?:^|,)gres/gpu=([0-9]+)', 1), '') as integer) as gpus,
    try_cast(nullif(regexp_extract(tres, '(?:^|,)gres/shard=([0-9]+)', 1), '') as integer)
      as shards,
    try_cast(nullif(regexp_extract(tres, '(?:^|,)node=([0-9]+)', 1), '') as integer) as nodes,
    regexp_extract_all(tres, '(?:^|,)gres/shard:[^=,]+=([0-9]+)', 1) as typed_shards,
    regexp_extract_all(tres, '(?:^|,)gres/gpu:([^=,]+)=', 1) as models,
    list_transform(
      regexp_extract_all(tres, '(?:^|,)gres/gpu:[^=,]+=([0-9]*)', 1),
      lambda n: try_cast(n as integer)
    ) as model_gpus
  from lists
  where tres is not null
)

select
  tres,
  cpus,
  mem * case mem_unit
    when 'K' then 1024.0
    when 'G' then 1073741824.0
    when 'T' then 1099511627776.0
    when 'P' then 1125899906842624.0
    else 1048576.0
  end / 1e9 as mem_gb,
  coalesce(gpus, list_sum(model_gpus)::integer) as gpus,
  coalesce(
    shards, list_sum(list_transform(typed_shards, lambda n: try_cast(n as integer)))::integer
  ) as shards,
  models,
  model_gpus,
  nodes
from parsed
