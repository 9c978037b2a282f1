-- How many GPUs did each virtual cluster use each day?
-- One row per day and virtual cluster with allocated GPUs.
--   day    day, UTC
--   vc     virtual cluster; null: not recorded
--   gpu_h  GPU hours allocated on the day to attempts with a known end, or still running
with attempt_days as (
  select
    vc,
    gpus,
    started_at,
    until_at,
    unnest(generate_series(date_trunc('day', started_at), until_at, interval 1 day)) as day
  from attempt_runs
)

select
  day::date as day,
  vc,
  sum(
    gpus * seconds_between(
      greatest(started_at, day),
      least(until_at, day + interval 1 day)
    )
  ) / 3600 as gpu_h
from attempt_days
group by all
having gpu_h > 0
