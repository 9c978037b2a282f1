-- Which notes does telemetry need?
-- One row per note.
with unknown as (
  select distinct machine_id
  from series_machines
  where not known and machine_id is not null
),

labels as (
  select distinct
    jobs,
    unnest(jobs) as label
  from series
),

-- a series may have several labels that could name its job
named as (
  select
    labels.jobs,
    count(job_names.name) > 0 as names_job
  from labels
  left join job_names
    on labels.label = job_names.name
  group by labels.jobs
)

select format(
  '{:,} machines of the telemetry are not in the job log under an unambiguous name: {}{}.',
  count(*), array_to_string(list(machine_id order by machine_id)[:5], ', '),
  case when count(*) > 5 then ', …' else '' end
) as note
from unknown
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
  || '. A reading holds until the next, or for the usual interval where the next is late.' as note
from devices
union all
select format(
  'On {:,} machines GPUs are split into MIG instances: each counts as a GPU, in the order of GPU '
  || 'and instance. A scheduler that numbers them otherwise holds others than listed here.',
  count(distinct machine_id)
) as note
from devices
where mig_instance is not null
having count(*) > 0
union all
select
  'Labels of the telemetry name the GPUs that attempts held, by attempt and server: '
  || array_to_string(list_filter([
    format('{:,} are known by labels alone', count(*) filter (outcome in ('added', 'placed'))),
    format('{:,} agree with the job log', count(*) filter (outcome = 'known')),
    format('{:,} contradict the job log, which counts', count(*) filter (outcome = 'other')),
    format('{:,} name too few GPUs, and are not used', count(*) filter (outcome = 'unclear'))
  ], lambda part: not starts_with(part, '0 ')), '; ')
  || '.' as note
from labelled_placements
having count(*) > 0
union all
select format(
  'Of the labels of the telemetry that could name jobs, {:,} of {:,} name none of the job log.',
  count(*) filter (not names_job), count(*)
) as note
from named
having count(*) filter (not names_job) > 0
