-- What does the machine list say?
-- One row per line that is not blank.
select
  source_line,
  raw,
  len(f) as fields,
  trim(f[1]) as machine_id,
  trim(f[2]) as gpus_text,
  try_cast(gpus_text as integer) as gpus,
  trim(f[3]) as mem_text,
  try_cast(regexp_extract(mem_text, '^([0-9.]+) *GB$', 1) as double) as gpu_mem_gb
from (
  select source_line, raw, string_split(raw, ',') as f
  from machine_list_lines
) as split_lines
where trim(raw) <> ''
