-- materialized
-- How much of each limit did running jobs take, from moment to moment?
-- One row per limit and moment at which the amount changed.
--   limit_name   name of the limit, as in limit_members
--   moment       moment of the change in doubled microseconds since 1970, as in machine_use
--   used_before  amount taken before the moment
--   used_after   amount taken from the moment on
--   amount       the limit: as recorded, else the largest amount ever taken
with changes as (
  select
    m.limit_name,
    m.amount,
    2 * unnest([
      epoch_us(a.started_at) - coalesce(l.launch_us, 0),
      epoch_us(coalesce(a.ended_at, snapshot.ended_at))
    ]) + unnest([1, 0]) as moment,
    unnest([m.weight, -m.weight]) as change
  from limit_members as m
  inner join attempts as a using (job_id)
  left join launches as l using (job_id, attempt)
  cross join snapshot
  where coalesce(a.ended_at, snapshot.ended_at) > a.started_at
),

moments as (
  select
    limit_name,
    moment,
    any_value(amount) as amount,
    sum(change) as change
  from changes
  group by all
),

levels as (
  select
    limit_name,
    moment,
    amount,
    change,
    round(sum(change) over (partition by limit_name order by moment), 6) as used_after
  from moments
)

select
  limit_name,
  moment,
  round(used_after - change, 6) as used_before,
  used_after,
  coalesce(amount, max(used_after) over (partition by limit_name)) as amount
from levels
