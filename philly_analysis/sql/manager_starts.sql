-- How long after a start of the resource manager was its first job submitted?
-- One row per start of the resource manager in job ids of the form application_<epoch in
-- ms>_<number>.
--   started_at          start of the resource manager, UTC, from the epoch in job ids
--   jobs                jobs submitted to this run of the resource manager
--   first_submitted_at  first submission to this run of the resource manager, by the job log's
--                       clock
--   lag_s               seconds from started_at to first_submitted_at: below zero or always large
--                       if the job log is not in UTC
with ids as (
  select
    submitted_at,
    regexp_extract(job_id, '^application_([0-9]{1,15})_[0-9]+$', 1) as epoch_ms
  from jobs
)

select
  make_timestamp(epoch_ms::bigint * 1000) as started_at,
  count(*) as jobs,
  min(submitted_at) as first_submitted_at,
  seconds_between(started_at, first_submitted_at) as lag_s
from ids
where epoch_ms != ''
group by started_at
