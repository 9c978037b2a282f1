-- How bursty are arrivals?
-- One row, over the jobs without a flag: earlier arrivals of the same hours may be missing from the
-- log.
--   hours              hours from the first submission to the last
--   gap_cv             coefficient of variation of the interarrival times
--   zero_gap_pct       share of arrivals in the same second as the previous arrival, %
--   hourly_dispersion  variance divided by mean of the arrivals per hour
--   flagged            jobs excluded because of a flag
with gaps as (
  select seconds_between(lag(submitted_at) over (order by submitted_at), submitted_at) as gap_s
  from gpu_jobs
  where flag is null
),

gap_spread as (
  select
    sqrt(greatest(count(gap_s) * total(gap_s * gap_s) / nullif(total(gap_s), 0) ** 2 - 1, 0))
      as gap_cv,
    100 * avg((gap_s = 0)::int) as zero_gap_pct
  from gaps
),

hour_spread as (
  select
    count(*) as hours,
    (count(*) * sum(jobs * jobs) - sum(jobs) * sum(jobs)) / (count(*) * nullif(sum(jobs), 0))
      as hourly_dispersion
  from arrival_hours
)

select
  hour_spread.hours,
  gap_spread.gap_cv,
  gap_spread.zero_gap_pct,
  hour_spread.hourly_dispersion,
  (
    select count(*)
    from gpu_jobs
    where flag is not null
  ) as flagged
from gap_spread
cross join hour_spread
order by all
