-- How often does the same reason come back in the same job, and to the same user?
-- One row per reason, and one over all of them.
--   reason           why; all: every failed attempt whose output is known
--   trials           failed attempts
--   jobs             jobs they belong to
--   users            users of these jobs
--   trials_per_job   trials divided by jobs
--   trials_per_user  trials divided by users; null: users unknown
--   top_user_pct     share of the trials that belongs to the user with most of them
with per_user as (
  select
    coalesce(reason, 'all') as reason,
    "user",
    count(*) as trials
  from failed_attempts
  where "user" is not null
  group by grouping sets ((reason, "user"), ("user"))
),

tops as (
  select
    reason,
    max(trials) as trials
  from per_user
  group by reason
),

rows as (
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
  rows.trials,
  rows.jobs,
  rows.users,
  rows.trials / rows.jobs as trials_per_job,
  rows.trials / nullif(rows.users, 0) as trials_per_user,
  100 * tops.trials / rows.trials as top_user_pct
from rows
left join tops using (reason)
order by all
