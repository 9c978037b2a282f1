-- How many GPUs were in use at once, at most?
-- One row.
--   peak_gpus  most GPUs that attempts held at one moment; null: no attempt ran for a known time
--   log_s      seconds from the first submission to the end of the log
with changes as (
  select
    2 * epoch_us(unnest([started_at, until_at])) + unnest([1, 0]) as moment,
    unnest([gpus, -gpus]) as change
  from attempt_runs
  where gpus > 0 and until_at > started_at
),

-- releases come before starts of the same microsecond, so that only the last start has the peak
levels as (
  select sum(change) over (order by moment rows unbounded preceding) as gpus
  from changes
)

select
  max(levels.gpus)::bigint as peak_gpus,
  any_value(seconds_between(snapshot.began_at, snapshot.ended_at)) as log_s
from snapshot
left join levels
  on true
