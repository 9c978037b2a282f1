-- binned by week of host_samples
-- How busy were each server's CPU and memory while an attempt held GPUs of the server?
-- One row per (holding, resource, week, bin).
--   holding   number of the attempt's server in placed_servers
--   resource  cpu: CPU use; mem: memory in use, page cache included, over total memory
--   week      Monday of the week in which the readings begin
--   bin       use in whole percent: 0 is idle, k is above k - 1 and at most k; null: no reading
--   minutes   minutes that the samples cover
--   sum_pct   sum of the use, in % times minutes; null: no reading
--
-- A sample counts with the part of its time that lies within the attempt's minutes, as readings do
-- in gpu_use_bins.
select
  holding,
  unnest(['cpu', 'mem']) as resource,
  machine_id,
  unnest([1, 2]) as place,
  from_at,
  until_at
from placed_servers
where from_at is not null and until_at is not null
