-- How much does each limit allow?
-- One row per limit of limit_members.
--   limit_name  name of the limit, as in limit_members
--   scope       whose use the limit counts: account, user, qos or partition
--   owner       name of the account, QOS, user or partition whose use the limit counts
--   resource    gpus, jobs, cpus, mem_gb or servers
--   amount      the limit: as recorded, else the largest amount that jobs ever took; null: none ran
--   recorded    true when the amount is recorded, false when estimated
with peaks as (
  select
    limit_name,
    max(used_after) as used_after
  from limit_use
  group by limit_name
)

select
  m.limit_name,
  any_value(m.scope) as scope,
  min(m.owner) as owner,
  any_value(m.resource) as resource,
  coalesce(any_value(m.amount), max(peaks.used_after)) as amount,
  any_value(m.amount) is not null as recorded
from limit_members as m
left join peaks using (limit_name)
group by m.limit_name
