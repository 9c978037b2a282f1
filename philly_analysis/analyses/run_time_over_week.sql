-- What share of jobs runs longer than a week?
-- One row.
--   over_week_pct  share of the jobs that run for longer than a week (see run_survival), %; null:
--                  no jobs
select
  case
    when count(*) > 0
      then 100 * (1 - coalesce(max(ended_frac) filter (where run_s <= 7 * 86400), 0))
  end as over_week_pct
from run_survival
where gang = 'all'
order by all
