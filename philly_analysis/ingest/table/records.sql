-- stored
-- Rows of the table with the jobs, understood as the map has it.
-- One row per row of the table: a job, and the one attempt that it tells of.
with given as (
  select
    *,
    min(source_file) over () <> max(source_file) over () as several,
    if(
      rules().submitted_at.since_row_before and try_cast(submitted_at_said as double) is not null,
      sum(try_cast(submitted_at_said as double)) over (
        partition by source_file order by source_line
      )::varchar,
      submitted_at_said
    ) as submitted_at_counted
  from jobs_rows
),

meant as (
  select
    *,
    coalesce(
      meaning(job_id_said, rules().job_id),
      -- the line that it stands on, written so that names sort as lines do
      if(several, source_file || ':', '') || lpad(source_line::varchar, 9, '0')
    ) as job_id,
    meaning(vc_said, rules().vc) as vc,
    meaning(user_said, rules().user) as user,
    meaning(status_said, rules().status) as status,
    meaning(job_type_said, rules().job_type) as job_type,
    meaning(cluster_said, rules().cluster) as cluster,
    meaning(scheduler_id_said, rules().scheduler_id) as scheduler_id,
    meaning(account_said, rules().account) as account,
    meaning(qos_said, rules().qos) as qos,
    meaning(pool_said, rules().pool) as pool,
    meaning(gpu_model_said, rules().gpu_model) as gpu_model,
    meaning(end_reason_said, rules().end_reason) as end_reason,
    meaning(ended_by_said, rules().ended_by) as ended_by,
    meaning(wait_reason_said, rules().wait_reason) as wait_reason,
    quantity(gpus_said, gpus_times, rules().gpus) as gpus,
    quantity(cpus_said, cpus_times, rules().cpus) as cpus,
    quantity(mem_gb_said, mem_gb_times, rules().mem_gb) as mem_gb,
    quantity(gpu_frac_said, null, rules().gpu_frac) as gpu_frac,
    quantity(exit_code_said, null, rules().exit_code) as exit_code,
    quantity(time_limit_s_said, null, rules().time_limit_s) as time_limit_s,
    quantity(run_s_said, null, rules().run_s) as run_s,
    quantity(wait_s_said, null, rules().wait_s) as wait_s,
    moment(submitted_at_counted, rules().submitted_at) as submitted_at,
    moment(eligible_at_said, rules().eligible_at) as eligible_at,
    moment(started_at_said, rules().started_at) as started_at,
    moment(ended_at_said, rules().ended_at) as ended_at
  from given
)

select
  source_file,
  source_line,
  raw,
  job_id,
  vc,
  user,
  status,
  job_type,
  cluster,
  scheduler_id,
  account,
  qos,
  pool,
  gpu_model,
  end_reason,
  ended_by,
  wait_reason,
  gpus,
  cpus,
  mem_gb,
  gpu_frac,
  exit_code,
  time_limit_s,
  run_s,
  wait_s,
  submitted_at,
  eligible_at,
  started_at,
  ended_at,
  coalesce(
    fault,
    unknown_word('job_id', job_id_said, rules().job_id),
    unknown_word('vc', vc_said, rules().vc),
    unknown_word('user', user_said, rules().user),
    unknown_word('status', status_said, rules().status),
    unknown_word('job_type', job_type_said, rules().job_type),
    unknown_word('cluster', cluster_said, rules().cluster),
    unknown_word('scheduler_id', scheduler_id_said, rules().scheduler_id),
    unknown_word('account', account_said, rules().account),
    unknown_word('qos', qos_said, rules().qos),
    unknown_word('pool', pool_said, rules().pool),
    unknown_word('gpu_model', gpu_model_said, rules().gpu_model),
    unknown_word('end_reason', end_reason_said, rules().end_reason),
    unknown_word('ended_by', ended_by_said, rules().ended_by),
    unknown_word('wait_reason', wait_reason_said, rules().wait_reason),
    unread('gpus', gpus_said, gpus, 'number'),
    unread('cpus', cpus_said, cpus, 'number'),
    unread('mem_gb', mem_gb_said, mem_gb, 'number'),
    unread('gpu_frac', gpu_frac_said, gpu_frac, 'number'),
    unread('exit_code', exit_code_said, exit_code, 'number'),
    unread('time_limit_s', time_limit_s_said, time_limit_s, 'number'),
    unread('run_s', run_s_said, run_s, 'number'),
    unread('wait_s', wait_s_said, wait_s, 'number'),
    unread('submitted_at', submitted_at_said, submitted_at, 'time'),
    unread('eligible_at', eligible_at_said, eligible_at, 'time'),
    unread('started_at', started_at_said, started_at, 'time'),
    unread('ended_at', ended_at_said, ended_at, 'time'),
    if(gpus <> round(gpus), 'gpus is not a whole number', null)
  ) as reject
from meant
