-- Functions of the Slurm source.

-- A time of sacct: local clock text, which TZ=UTC makes UTC, or seconds since 1970.
create or replace macro slurm_time(text) as
coalesce(
  try_strptime(text, '%Y-%m-%dT%H:%M:%S'),
  case when regexp_full_match(text, '[0-9]{9,11}') then make_timestamp(text::bigint * 1000000) end
);

-- A span of sacct in seconds: [DD-[HH:]]MM:SS[.us], or a plain number of them; UNLIMITED is null.
create or replace macro slurm_span_s(text) as
coalesce(
  try_cast(text as double),
  86400 * coalesce(try_cast(regexp_extract(text, '^([0-9]+)-', 1) as double), 0)
  + 3600 * coalesce(try_cast(regexp_extract(text, '(?:^|-)([0-9]+):[0-9]+:', 1) as double), 0)
  + 60 * try_cast(regexp_extract(text, '(?:^|[-:])([0-9]+):[0-9]+(?:\.[0-9]+)?$', 1) as double)
  + try_cast(regexp_extract(text, ':([0-9]+(?:\.[0-9]+)?)$', 1) as double)
);

-- The models in a list of trackable resources, and how many GPUs of each.
create or replace macro tres_models(tres) as
regexp_extract_all(tres, '(?:^|,)gres/gpu:([^=,]+)=', 1);

-- GPUs in a list of trackable resources: the generic count, else the sum of the typed ones.
create or replace macro tres_gpus(tres) as
coalesce(
  try_cast(nullif(regexp_extract(tres, '(?:^|,)gres/gpu=([0-9]+)', 1), '') as integer),
  list_sum(list_transform(
    regexp_extract_all(tres, '(?:^|,)gres/gpu:[^=,]+=([0-9]+)', 1), lambda n: try_cast(n as integer)
  ))::integer
);

-- Shards of GPUs in a list of trackable resources.
create or replace macro tres_shards(tres) as
coalesce(
  try_cast(nullif(regexp_extract(tres, '(?:^|,)gres/shard=([0-9]+)', 1), '') as integer),
  list_sum(list_transform(
    regexp_extract_all(tres, '(?:^|,)gres/shard:[^=,]+=([0-9]+)', 1),
    lambda n: try_cast(n as integer)
  ))::integer
);

-- The part of a GPU that a MIG profile is, by its compute slices: 1g.5gb is 1/7; an A30, whose
-- slices have 6 GB each, has four; null for a whole GPU.
create or replace macro mig_frac(model) as
try_cast(nullif(regexp_extract(model, '([0-9]+)g\.[0-9]+gb', 1), '') as double)
/ case
  when
    6 * try_cast(nullif(regexp_extract(model, '([0-9]+)g\.[0-9]+gb', 1), '') as integer)
    = try_cast(nullif(regexp_extract(model, '[0-9]+g\.([0-9]+)gb', 1), '') as integer)
    then 4
  else 7
end;

-- Host memory in a list of trackable resources, in GB (10^9 bytes); sacct counts in 1024s.
create or replace macro tres_mem_gb(tres) as
try_cast(nullif(regexp_extract(tres, '(?:^|,)mem=([0-9.]+)', 1), '') as double)
* case regexp_extract(tres, '(?:^|,)mem=[0-9.]+([KMGTP]?)', 1)
  when 'K' then 1024.0
  when 'G' then 1073741824.0
  when 'T' then 1099511627776.0
  when 'P' then 1125899906842624.0
  else 1048576.0
end / 1e9;
