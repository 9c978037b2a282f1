-- How often are jobs retried, and how often do they end unsuccessful, by gang size?
-- One row per gang size, and one over all gang sizes.
--   gang              gang-size bucket; all: every job with a known gang
--   jobs              jobs with at least one attempt
--   attempts          attempts of the jobs
--   retries_per_job   attempts after the first, per job
--   retried_pct       share of the jobs with more than one attempt, %
--   with_status       jobs whose final status is known
--   unsuccessful_pct  share of the jobs with a known status that ended unsuccessful, %
select
  coalesce(gang, 'all') as gang,
  count(*) as jobs,
  sum(attempts)::bigint as attempts,
  avg(attempts - 1) as retries_per_job,
  100 * avg((attempts > 1)::int) as retried_pct,
  count(failed) as with_status,
  100 * avg(failed::int) as unsuccessful_pct
from started_jobs
group by grouping sets ((gang), ())
having count(*) > 0
order by all
