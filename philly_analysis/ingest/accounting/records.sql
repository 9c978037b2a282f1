-- materialized
-- Which record of each attempt is the latest, and which lines are parts of other records?
-- One row per line of the accounting log.
with submissions as (
  select distinct
    job,
    life_s
  from dated_records
  where life_s is not null and event <> 'deleted'
),

lives as (
  select
    job,
    life_s,
    job || case
      when row_number() over (partition by job order by life_s) > 1
        then '@' || strftime(moment(life_s), '%Y-%m-%dT%H:%M:%S')
      else ''
    end as job_id
  from submissions
),

named as (
  select
    d.*,
    lives.job_id
  from dated_records as d
  left join lives using (job, life_s)
),

starts as (
  select
    job_id,
    started_s,
    bool_or(event = 'ended') as ended
  from named
  where job_id is not null and started_s is not null and event in ('started', 'ended')
  group by job_id, started_s
),

numbered as (
  select
    *,
    row_number() over (partition by job_id order by started_s) as attempt
  from starts
),

assigned as (
  select
    named.*,
    numbered.attempt,
    row_number() over (
      partition by named.job_id, named.started_s, named.event
      order by named.source_file, named.source_line
    ) as print,
    numbered.ended and named.event = 'started' as completed_later,
    named.job_id in (select job_id from starts) as ever_started
  from named
  left join numbered
    on
      named.job_id = numbered.job_id
      and named.started_s = numbered.started_s
      and named.event in ('started', 'ended')
),

waiting as (
  -- of a job that never started, the last record is its attempt
  select
    *,
    row_number() over (
      partition by job_id, not ever_started and event in ('queued', 'ended')
      order by event = 'ended' desc, source_file desc, source_line desc
    ) as place
  from assigned
)

select
  * exclude (attempt, print, completed_later, ever_started, place),
  coalesce(attempt, case when not ever_started then 1 end) as attempt,
  case
    when job_id is null then 'no record has the submission of its job'
    when event = 'part' then 'a part of a parallel job: its server counts for the whole'
    when event = 'deleted' then 'the deletion of a job: who ended it counts for its last attempt'
    when attempt is not null and print > 1 then 'another record of the same attempt'
    when completed_later then 'an earlier record of an attempt'
    when attempt is null and (ever_started or place > 1) then 'an earlier record of a job'
  end as reject
from waiting
union all by name
select
  accounting.*,
  fault as reject
from accounting
where fault is not null
