-- Which attempts did hardware or infrastructure end, and by which cause?
-- One row per attempt on GPUs that hardware or infrastructure ended, with trusted times.
-- Infrastructure means reasons that only belong to the study's infrastructure tier, except
-- preemption.
--   job_id    identifier of the job
--   attempt   number of the attempt within its job, from 1
--   tier      hardware: a GPU or server failed; infrastructure: software or storage of the cluster
--   cause     cause of the failure, from the attempt's output; lost server: the scheduler or the
--             output reports the loss of a server, and the output names no finer cause
--   gpus      GPUs allocated to the attempt
--   ended_at  end of the attempt
select
  lost.job_id,
  lost.attempt,
  'hardware' as tier,
  case
    when failures.reason = 'GPU ECC error' then 'GPU memory error'
    when failures.fine = 'gpu_fell_off_bus' then 'GPU off the bus'
    when failures.fine = 'nvlink_error' then 'NVLink error'
    else 'lost server'
  end as cause,
  lost.gpus,
  lost.ended_at
from lost_attempts_by_output as lost
left join failures using (job_id, attempt)
union all
select
  runs.job_id,
  runs.attempt,
  'infrastructure' as tier,
  failures.reason as cause,
  runs.gpus,
  runs.until_at as ended_at
from failures
inner join attempt_runs as runs using (job_id, attempt)
left join lost_attempts_by_output as lost using (job_id, attempt)
where
  lost.job_id is null
  and failures.tier = 'IF'
  and failures.reason <> 'Job preempted'
  and runs.gpus > 0
  and runs.until_at is not null
  and runs.flag is null
order by all
