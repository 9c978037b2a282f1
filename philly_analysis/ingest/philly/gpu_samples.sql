-- GPU utilisation of the Philly archive.
-- One row per line of cluster_gpu_util.
with timed as (
  select
    *,
    utc(time) as sampled_at,
    -- a machine's number finds its layout four times as fast as a join does
    enum_code(try_cast(machine_id as glimpsed_machine)) + 1 as i,
    coalesce((select gpus from gpu_layouts)[i], 0) as gpus,
    coalesce((select doubled from gpu_layouts)[i], false) as doubled
  from cluster_gpu_util
)

select
  sampled_at,
  machine_id,
  case
    -- 16 values, or a machine that always writes each of its GPUs twice: keep every second one
    when coalesce(v8, v9, v10, v11, v12, v13, v14, v15) is not null
      then [v0, v2, v4, v6, v8, v10, v12, v14]
    when gpus >= 8 then [v0, v1, v2, v3, v4, v5, v6, v7]
    when doubled and gpus = 2 and v4 is null and v6 is null then [v0, v2]
    when doubled then list_slice([v0, v2, v4, v6], 1, greatest(gpus, case
      when v6 is not null then 4 when v4 is not null then 3 when v2 is not null then 2 else 1
    end))
    when gpus = 2 and coalesce(v2, v3, v4, v5, v6, v7) is null then [v0, v1]
    else list_slice([v0, v1, v2, v3, v4, v5, v6, v7], 1, greatest(gpus, case
      when v7 is not null then 8 when v6 is not null then 7 when v5 is not null then 6
      when v4 is not null then 5 when v3 is not null then 4 when v2 is not null then 3
      when v1 is not null then 2 else 1
    end))
  end as util_pct,
  'cluster_gpu_util' as source_file,
  source_line,
  raw,
  case when sampled_at is null then 'time is not like 2017-10-03 00:00:00 PDT' end as reject,
  -- least and greatest pass over nulls, and are quicker than a look into each list
  sampled_at is not null and machine_id is not null
  and coalesce(least(v0, v1, v2, v3, v4, v5, v6, v7) >= 0, true)
  and coalesce(greatest(v0, v1, v2, v3, v4, v5, v6, v7) <= 100, true)
  and coalesce(v8, v9, v10, v11, v12, v13, v14, v15) is null as sound
from timed
