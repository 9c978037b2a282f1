-- materialized
-- What did Slurm say of each job without servers, in each print of the queue?
-- One row per print and job, with times by the clock of sacct.
select
  s.source_file,
  c.cluster,
  coalesce(
    try_strptime(s.taken, '%Y-%m-%dT%H:%M:%SZ'), slurm_time(s.taken) + to_seconds(c.offset_s)
  ) as taken_at,
  s.id,
  s.array_id,
  s.tasks,
  s.leader_id,
  s.member,
  s.state,
  s.reason,
  slurm_time(s.submit) + to_seconds(c.offset_s) as submitted_at,
  slurm_time(s.eligible) + to_seconds(c.offset_s) as eligible_at,
  slurm_time(s."end") + to_seconds(c.offset_s) as ended_at,
  s.user,
  s.uid,
  s.account,
  s.qos,
  s."partition",
  s.timelimit,
  s.tres
from job_states as s
inner join snapshot_clocks as c using (source_file)
