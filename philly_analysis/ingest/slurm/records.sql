-- stored
-- Records of sacct, their fields understood.
-- One row per line of sacct output after the header.
with typed as (
  select
    source_file,
    source_line,
    raw,
    whole,
    jobidraw as job_id,
    coalesce(jobid, jobidraw) as shown_id,
    "partition" as vc,
    user,
    -- CANCELLED by 1001, and a + where the column was too narrow
    upper(regexp_extract(state, '^[A-Za-z_]+')) as state,
    slurm_time(submit) as submitted_at,
    slurm_time(eligible) as eligible_at,
    slurm_time(start) as started_at,
    slurm_time("end") as ended_at,
    submit as submit_text,
    start as start_text,
    "end" as end_text,
    coalesce(tres_gpus(alloctres), tres_gpus(reqtres), 0) as gpus,
    coalesce(
      try_cast(nullif(regexp_extract(alloctres, '(?:^|,)cpu=([0-9]+)', 1), '') as double),
      try_cast(ncpus as double)
    ) as cpus,
    coalesce(tres_mem_gb(alloctres), tres_mem_gb(reqtres)) as mem_gb,
    nullif(try_cast(timelimitraw as double), 0) * 60 as time_limit_s,
    try_cast(regexp_extract(exitcode, '^([0-9]+):', 1) as integer) as code,
    try_cast(regexp_extract(exitcode, ':([0-9]+)$', 1) as integer) as signal,
    nodelist as node_list
  from sacct
)

select
  *,
  case
    when not whole then 'the number of fields is not that of the header'
    when contains(coalesce(shown_id, ''), '.') then 'a step of a job, not a job'
    when submitted_at is null then 'Submit is not a time'
    when start_text is not null and started_at is null then 'Start is not a time'
    when end_text is not null and ended_at is null then 'End is not a time'
    when ended_at < started_at then 'it ended before it started'
  end as reject,
  -- a requeued job keeps its number and is submitted again
  row_number() over (
    partition by job_id, reject is null order by submitted_at, started_at, source_file, source_line
  ) as attempt
from typed
