-- by job_id
-- Which limit did the scheduler state for each job?
-- One row per job and stated reason that means a limit.
--   job_id  identifier of the job
--   reason  reason, in the scheduler's word
--   name    name of the recorded limit with the scope and resource of the reason on which the job
--           counts. Without a record: the kind of limit, its owner, and the limited resource
with words as (
  select
    job_id,
    wait_reason as reason
  from attempts
  where wait_reason is not null
  union
  select
    job_id,
    reason
  from given_queue_states
),

recorded as (
  select
    job_id,
    scope,
    resource,
    min(limit_name) as limit_name
  from limit_members
  group by job_id, scope, resource
)

select
  words.job_id,
  words.reason,
  coalesce(
    recorded.limit_name, limit_label(r.kind, jobs.account, jobs.qos, jobs.user, r.resource)
  ) as name
from words
inner join stated_reasons as r
  on words.reason = r.reason and r.cause = 'limit'
inner join jobs using (job_id)
left join recorded
  on
    words.job_id = recorded.job_id
    and r.resource = recorded.resource
    -- Max of an association is a user's, Grp an account's
    and recorded.scope = if(starts_with(words.reason, 'AssocMax'), 'user', r.kind)
