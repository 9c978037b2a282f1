-- Functions of the Slurm source.

-- A time of sacct: local clock text, which TZ=UTC makes UTC, or seconds since 1970.
create or replace macro slurm_time(text) as
coalesce(
  try_strptime(text, '%Y-%m-%dT%H:%M:%S'),
  case when regexp_full_match(text, '[0-9]{9,11}') then make_timestamp(text::bigint * 1000000) end
);

-- A span of sacct in seconds: [DD-[HH:]]MM:SS[.us], or a plain number of seconds; UNLIMITED is
-- null.
create or replace macro slurm_span_s(text) as
coalesce(
  try_cast(text as double),
  86400 * coalesce(try_cast(regexp_extract(text, '^([0-9]+)-', 1) as double), 0)
  + 3600 * coalesce(try_cast(regexp_extract(text, '(?:^|-)([0-9]+):[0-9]+:', 1) as double), 0)
  + 60 * try_cast(regexp_extract(text, '(?:^|[-:])([0-9]+):[0-9]+(?:\.[0-9]+)?$', 1) as double)
  + try_cast(regexp_extract(text, ':([0-9]+(?:\.[0-9]+)?)$', 1) as double)
);

-- The part of a GPU that a MIG profile is, by its compute slices: 1g.5gb is 1/7. An A30, whose
-- slices have 6 GB each, has four slices. A whole GPU gives null.
create or replace macro mig_frac(model) as
try_cast(nullif(regexp_extract(model, '([0-9]+)g\.[0-9]+gb', 1), '') as double)
/ case
  when
    6 * try_cast(nullif(regexp_extract(model, '([0-9]+)g\.[0-9]+gb', 1), '') as integer)
    = try_cast(nullif(regexp_extract(model, '[0-9]+g\.([0-9]+)gb', 1), '') as integer)
    then 4
  else 7
end;
