-- materialized
-- For which time does each print of the queue stand?
-- One row per cluster and moment of a print. A print stands from the midpoint with the print before
-- to the midpoint with the print after. Either side is at most the usual interval between prints.
with moments as (
  select distinct
    c.cluster,
    coalesce(
      try_strptime(s.taken, '%Y-%m-%dT%H:%M:%SZ'), slurm_time(s.taken) + to_seconds(c.offset_s)
    ) as taken_at
  from snapshots as s
  inner join snapshot_clocks as c using (source_file)
),

gaps as (
  select
    cluster,
    taken_at,
    seconds_between(lag(taken_at) over in_order, taken_at) as before_s,
    seconds_between(taken_at, lead(taken_at) over in_order) as after_s
  from moments
  window in_order as (partition by cluster order by taken_at)
),

usual as (
  select coalesce(median(before_s), 0) as gap_s
  from gaps
)

select
  gaps.cluster,
  gaps.taken_at,
  gaps.taken_at + to_seconds(gaps.after_s) as next_at,
  gaps.taken_at - to_seconds(least(coalesce(gaps.before_s, usual.gap_s) / 2, usual.gap_s))
    as since_at,
  gaps.taken_at + to_seconds(least(coalesce(gaps.after_s, usual.gap_s) / 2, usual.gap_s))
    as until_at
from gaps
cross join usual
