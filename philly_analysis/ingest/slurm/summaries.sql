-- What did jobstats measure of Slurm's attempts? jobstats writes AdminComment (JS1) as a job ends.
-- One row per attempt and server, with the server's CPUs and memory, and per GPU allocated there.
select
  r.job_id,
  r.attempt,
  r.prefix || s.node as machine_id,
  s.gpu,
  case when s.gpu is not null then 1 end as gpus,
  s.util_pct,
  s.gpu_mem_used_gb,
  s.gpu_mem_gb,
  s.cpu_s / nullif(coalesce(s.total_s, r.elapsed_s), 0) as cpus_used,
  s.cpus,
  s.mem_used_gb,
  s.mem_gb,
  coalesce(s.total_s, r.elapsed_s) as seconds,
  r.source_file,
  r.source_line,
  r.summary as raw,
  s.fault as reject
from records as r
inner join jobstats as s
  on r.summary = s.admin_comment
where r.reject is null
