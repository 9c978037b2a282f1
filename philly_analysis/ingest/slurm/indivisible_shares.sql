-- kept
-- Which attempts have GPUs that do not divide by their servers?
-- One row per attempt and server, with the mean number of GPUs of a server.
select distinct
  job_id,
  attempt,
  prefix,
  node,
  about_gpus
from shares
where gpus is null
