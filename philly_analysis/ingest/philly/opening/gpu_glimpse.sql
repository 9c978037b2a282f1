-- Which values do some lines of cluster_gpu_util have?
-- One row per line. A GPU that is off has NA (null). A GPU that does not exist has an empty field.
select
  f[2] as machine_id,
  list_transform(
    list_filter(f[3:], lambda x: x <> ''), lambda x: try_cast(x as double)
  ) as vals
from (
  select string_split(rtrim(line, chr(13) || chr(10)), ',') as f
  from probed_lines
) as probed
