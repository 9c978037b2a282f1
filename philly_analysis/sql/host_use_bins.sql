-- binned by week of host_samples
-- How busy were each server's CPU and memory while an attempt had GPUs of it?
-- One row per (holding, resource, week, bin).
--   holding   attempt and server: the number in placed_servers, whose
--             attribution shows whether the attempt had the server to itself
--   resource  cpu, or mem: memory in use, page cache included, over memory in total
--   week      Monday of the week in which the readings began
--   bin       use rounded up to whole percent: 0 is idle, k is above k - 1 and up to k; null: no
--             reading
--   minutes   minutes that the samples stand for
--   sum_pct   sum of the readings, in % times minutes; null: no reading
--
-- An attempt has the part of each sample that lies in its minutes, as in gpu_use_bins.
select
  holding,
  unnest(['cpu', 'mem']) as resource,
  machine_id,
  unnest([1, 2]) as place,
  from_at,
  until_at
from placed_servers
where from_at is not null and until_at is not null
