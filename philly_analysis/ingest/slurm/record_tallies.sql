-- tallied
-- How many records of Slurm's accounting have what its notes mention?
-- One row per property of records.
select
  'exit code without signal' as property,
  count(*) as records
from records
where reject is null and state = 'FAILED' and code > 0 and signal = 0 and not never_ran
union all
select
  'end overwritten' as property,
  count(*) as records
from records
where reject is null and end_overwritten
union all
select
  unnest(['servers requested', 'servers allocated', 'parts of GPUs', 'shards of unknown size'])
    as property,
  unnest([
    count(*) filter (asked_nodes is not null),
    count(*) filter (asked_nodes is null and nodes is not null),
    count(*) filter (gpu_frac is not null),
    count(*) filter (shards > 0 and gpus = 0)
  ]) as records
from allocations
where reject is null
