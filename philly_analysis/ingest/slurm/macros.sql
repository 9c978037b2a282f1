-- Functions of the Slurm source.

-- A time of sacct: local clock text, which TZ=UTC makes UTC, or seconds since 1970.
create or replace macro slurm_time(text) as
coalesce(
  try_strptime(text, '%Y-%m-%dT%H:%M:%S'),
  case when regexp_full_match(text, '[0-9]{9,11}') then make_timestamp(text::bigint * 1000000) end
);

-- GPUs in a list of trackable resources: the generic count, else the sum of the typed ones.
create or replace macro tres_gpus(tres) as
coalesce(
  try_cast(nullif(regexp_extract(tres, '(?:^|,)gres/gpu=([0-9]+)', 1), '') as integer),
  list_sum(list_transform(
    regexp_extract_all(tres, '(?:^|,)gres/gpu:[^=,]+=([0-9]+)', 1), lambda n: try_cast(n as integer)
  ))::integer
);

-- Host memory in a list of trackable resources, in GB (10^9 bytes); sacct counts in 1024s.
create or replace macro tres_mem_gb(tres) as
try_cast(nullif(regexp_extract(tres, '(?:^|,)mem=([0-9.]+)', 1), '') as double)
* case regexp_extract(tres, '(?:^|,)mem=[0-9.]+([KMGT]?)', 1)
  when 'K' then 1024.0
  when 'G' then 1073741824.0
  when 'T' then 1099511627776.0
  else 1048576.0
end / 1e9;
