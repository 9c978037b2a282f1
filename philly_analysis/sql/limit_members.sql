-- materialized
-- Which jobs count against which limit?
-- One row per limit and job. Recorded limits count. Without a record, a limit is assumed where the
-- scheduler said that jobs were at a limit of GPUs or jobs. An assumed limit is on an account, a
-- QOS, a user, or a user or account in a QOS.
--   limit_name  name of the limit; the name of a limit per user or account ends with the user or
--               account
--   scope       whose use the limit counts: account, user, qos or partition
--   owner       name of the account, QOS, user or partition whose use the limit counts
--   resource    resource that the limit is on
--   job_id      identifier of the job
--   weight      amount of the resource that the job takes while it runs
--   amount      largest amount that running jobs may take together; null: not recorded
with stated as (
  select distinct
    r.kind as scope,
    case r.kind when 'account' then jobs.account when 'qos' then jobs.qos else jobs.user end
      as owner,
    -- a limit per user or account of a QOS counts the jobs of that QOS only
    case when r.kind <> 'qos' and starts_with(r.reason, 'QOS') then jobs.qos end as qos,
    r.resource
  from (
    select
      job_id,
      wait_reason as reason
    from attempts
    where wait_reason is not null
    union all
    select
      job_id,
      reason
    from given_queue_states
  ) as words
  inner join stated_reasons as r using (reason)
  inner join jobs using (job_id)
  where
    r.cause = 'limit'
    and r.kind in ('account', 'qos', 'user')
    and r.resource in ('gpus', 'jobs')
    and not exists (select 1 from given_limits)
),

labelled as (
  select
    *,
    owner || coalesce(' in QOS ' || qos, '') as label
  from stated
),

counted as (
  select
    l.name || coalesce(
      ', ' || case l.per when 'user' then jobs.user when 'account' then jobs.account end, ''
    ) as limit_name,
    coalesce(l.per, l.scope) as scope,
    case l.per
      when 'user' then jobs.user
      when 'account' then jobs.account
      else coalesce(l.user, l.account, l.qos, l.vc)
    end as owner,
    l.resource,
    l.amount,
    jobs.job_id,
    jobs.gpus,
    jobs.cpus,
    jobs.mem_gb,
    jobs.servers
  from given_limits as l
  inner join jobs
    on
      fits(l.account, jobs.account)
      and fits(l.user, jobs.user)
      and fits(l.qos, jobs.qos)
      and fits(l.vc, jobs.vc)
      and coalesce(
        l.gpu_model in (jobs.gpu_model, string_split(jobs.pool, '/')[-1]), l.gpu_model is null
      )
  union all
  select
    limit_label(s.scope, s.label, s.label, s.label, s.resource) as limit_name,
    s.scope,
    s.owner,
    s.resource,
    null as amount,
    jobs.job_id,
    jobs.gpus,
    jobs.cpus,
    jobs.mem_gb,
    jobs.servers
  from labelled as s
  inner join jobs
    on
      s.owner = case s.scope
        when 'account' then jobs.account
        when 'qos' then jobs.qos
        else jobs.user
      end
      and fits(s.qos, jobs.qos)
)

select distinct
  limit_name,
  scope,
  owner,
  resource,
  job_id,
  case resource
    when 'gpus' then gpus
    when 'jobs' then 1
    when 'cpus' then cpus
    when 'mem_gb' then mem_gb
    else servers
  end::double as weight,
  amount
from counted
where weight > 0
