-- What a reader of telemetry should know.
-- One row per note.
select format(
  '{:,} machines of the telemetry are not in the job log, under no name that leads to one of them '
  || 'and no other: {}{}.',
  count(*), array_to_string(list(machine_id order by machine_id)[:5], ', '),
  case when count(*) > 5 then ', …' else '' end
) as note
from (select distinct machine_id from told_of where not known and machine_id is not null) as strange
having count(*) > 0
union all
select
  'Utilisation of a GPU is the share of time in which anything ran on it, as the driver reports it'
  || case
    when count(*) filter (util_metric <> 'utilisation') > 0
      then format(
        '; of {:,} of {:,} devices, which have no such reading, it is that in which the engine '
        || 'was active (GR_ENGINE_ACTIVE)',
        count(*) filter (util_metric <> 'utilisation'), count(*)
      )
    else ''
  end
  || '. A reading stands until the next, or for the usual step where the next is late.' as note
from devices
union all
select format(
  'On {:,} machines GPUs are cut into MIG instances: each counts as a GPU, in the order of GPU and '
  || 'instance; a scheduler that numbers them otherwise holds others than are said here.',
  count(distinct machine_id)
) as note
from devices
where mig_instance is not null
having count(*) > 0
union all
select format(
  'Labels of the telemetry tell which GPUs of {:,} servers attempts held; on {:,} more they agree '
  || 'with the job log, on {:,} they contradict it, which counts, and on {:,} they do not account '
  || 'for all GPUs and are not used.',
  count(*) filter (outcome in ('told', 'placed')), count(*) filter (outcome = 'known'),
  count(*) filter (outcome = 'other'), count(*) filter (outcome = 'unclear')
) as note
from indices
having count(*) > 0
union all
select format(
  'Of the labels of the telemetry that could name jobs, {:,} of {:,} name none of the job log.',
  count(*) filter (job_id is null), count(*)
) as note
from (
  select distinct
    label,
    coalesce(jobs.job_id, shown.job_id) as job_id
  from (select distinct unnest(jobs) as label from series) as labels
  left join jobs on label = jobs.job_id
  left join jobs as shown on label = shown.scheduler_id
) as labelled
having count(*) filter (job_id is null) > 0
