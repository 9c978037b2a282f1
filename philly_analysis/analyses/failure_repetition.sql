-- How often does the same reason recur in the same job, and for the same user?
-- One row per reason, and one over all reasons.
--   reason           reason of the failures; all: every failed attempt whose output is known
--   trials           failed attempts
--   jobs             jobs that the failed attempts belong to
--   users            users of the jobs with failed attempts
--   trials_per_job   trials divided by jobs
--   trials_per_user  trials divided by users; null: no user is recorded
--   top_user_pct     share of the failed attempts that belong to the user with the most, %
with per_user as (
  select
    coalesce(reason, 'all') as reason,
    "user",
    count(*) as trials
  from failed_attempts
  where "user" is not null
  group by grouping sets ((reason, "user"), ("user"))
),

top_users as (
  select
    reason,
    max(trials) as trials
  from per_user
  group by reason
),

failures as (
  select
    coalesce(reason, 'all') as reason,
    count(*) as trials,
    count(distinct job_id) as jobs,
    count(distinct "user") as users
  from failed_attempts
  group by grouping sets ((reason), ())
  having count(*) > 0
)

select
  reason,
  failures.trials,
  failures.jobs,
  failures.users,
  failures.trials / failures.jobs as trials_per_job,
  failures.trials / nullif(failures.users, 0) as trials_per_user,
  100 * top_users.trials / failures.trials as top_user_pct
from failures
left join top_users using (reason)
order by all
