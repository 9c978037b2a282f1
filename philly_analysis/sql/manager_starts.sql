-- How long after a start of the resource manager was its first job stamped?
-- One row per start that job ids of the form application_<epoch in ms>_<number> name.
--   started_at          the start, UTC: the id carries it as an epoch
--   jobs                jobs submitted to it
--   first_submitted_at  their first submission, by the job log's clock
--   lag_s               seconds from the start to it: below zero, or never small, where that clock
--                       is not UTC
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
