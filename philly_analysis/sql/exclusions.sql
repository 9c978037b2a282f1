-- materialized
-- Which jobs and attempts do run times and waits exclude, and why?
-- One row per (what, reason).
--   what    kind of time: run time (of jobs) or wait (of attempts)
--   reason  reason of the exclusion: the row's flag, or the missing quantity
--   n       number of excluded jobs or attempts
with exclusion_reasons as (
  select
    'run time' as what,
    left_out as reason
  from workload_jobs
  union all by name
  select
    'wait' as what,
    coalesce(flag, case when gpus is null then 'gang size not known' end) as reason
  from waits
  union all by name
  select
    'wait' as what,
    case
      when jobs.gpus = 0 then 'no GPUs asked for'
      when attempts.started_at is null then 'start not known'
      else 'end of the attempt before not known'
    end as reason
  from attempts
  inner join jobs using (job_id)
  anti join waits using (job_id, attempt)
)

select
  what,
  replace(reason, '_', ' ') as reason,
  count(*) as n
from exclusion_reasons
where reason is not null
group by all
