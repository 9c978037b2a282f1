-- Which notes does a trace of the archive need?
-- One row per note.
--   note  the note as a sentence; null: the note does not apply
with listed as (
  select count(*) as machines, count(*) filter (gpus_listed <> gpus) as differ, sum(gpus) as gpus,
    sum(gpus_listed) as gpus_listed
  from machines
  where gpus_listed is not null
),

layouts as (
  select count(*) filter (doubled) as doubled from gpu_layout
),

minutes as (
  select distinct 'gpu_samples' as samples, sampled_at from gpu_samples
  union all
  select distinct 'host_samples' as samples, sampled_at from host_samples
),

steps as (
  select
    samples, sampled_at,
    lead(sampled_at) over (partition by samples order by sampled_at) as next_at
  from minutes
),

gaps as (
  select
    samples, sampled_at + interval 1 minute as from_at, next_at as until_at,
    row_number() over (
      partition by samples order by next_at - sampled_at desc, sampled_at
    ) as place
  from steps
  where next_at > sampled_at + interval 1 hour
),

-- the longest gaps are listed
gap_lists as (
  select
    samples,
    '; ' || if(count(*) = 1, 'one gap', format('{:,} gaps', count(*))) || ' of more than an hour'
    || if(count(*) > 3, ', the longest ', ', ')
    || string_agg(
      strftime(from_at, '%Y-%m-%d %H:%M') || ' to ' || strftime(until_at, '%Y-%m-%d %H:%M'),
      ', ' order by from_at
    ) filter (place <= 3) as gaps
  from gaps
  group by samples
),

coverage as (
  select
    minutes.samples,
    min(minutes.sampled_at) as from_at,
    max(minutes.sampled_at) as until_at,
    any_value(gap_lists.gaps) as gaps
  from minutes
  left join gap_lists using (samples)
  group by minutes.samples
),

spans as (
  select min(submitted_at) as from_at, max(submitted_at) as until_at from jobs
)

select
  'Job times are UTC; utilisation times were US Pacific (PDT or PST) and are converted to UTC.'
    as note
from coverage
having count(*) > 0
union all
select format(
  'The scheduler log has submissions from {} to {} UTC.',
  strftime(from_at, '%Y-%m-%d %H:%M'), strftime(until_at, '%Y-%m-%d %H:%M')
)
from spans
where from_at is not null
union all
(
  select format(
    '{} cover {} to {} UTC{}.', samples, strftime(from_at, '%Y-%m-%d %H:%M'),
    strftime(until_at, '%Y-%m-%d %H:%M'), coalesce(gaps, '')
  )
  from coverage
  order by samples
)
union all
select format(
  'Jobs submitted before {}, when the log becomes complete, are the survivors of a longer past: '
  || '{:,}, flagged left_truncated.',
  strftime(any_value(log_complete.since_at), '%Y-%m-%d'), count(*)
)
from jobs
cross join log_complete
where jobs.flag = 'left_truncated'
having count(*) > 0
union all
select format(
  'Attempts recorded to start at 2017-09-02 03:45:02, which is when the log begins and not when '
  || 'they started: {:,}, flagged fake_start.', count(*)
)
from attempts
where flag = 'fake_start'
having count(*) > 0
union all
select format(
  'Attempts that start before an earlier attempt of their job ended: {:,}, flagged '
  || 'overlaps_previous.', count(*)
)
from attempts
where flag = 'overlaps_previous'
having count(*) > 0
union all
select format(
  'The machine list claims {:,} GPUs; placements and samples show {:,}, and differ from it on '
  || '{:,} of {:,} machines. Capacity here is what they show.', gpus_listed, gpus, differ, machines
)
from listed
where differ > 0
union all
select format(
  'Machines that write the utilisation of each GPU twice, of which every second value is kept: '
  || '{:,}.', doubled
)
from layouts
where doubled > 0
