-- Which machine does each series belong to?
-- One row per series.
--   series      number of the series
--   machine_id  the only machine of the job log with a name of the host; without such a machine the
--               first name of the host; null: the series has no host
--   known       true if the job log has the machine
with candidates as (
  select
    series,
    cluster,
    unnest(hosts) as host,
    generate_subscripts(hosts, 1) as rank
  from series
),

forms as (
  select
    series,
    cluster,
    rank,
    lower(host) as name,
    true as complete
  from candidates
  union all
  select
    series,
    cluster,
    rank,
    lower(regexp_extract(host, '^[^.]+')) as name,
    false as complete
  from candidates
  where contains(host, '.') and not regexp_full_match(host, '[0-9.]+')
),

named_machines as (
  select
    f.series,
    f.rank,
    f.complete,
    count(distinct n.machine_id) as machines,
    any_value(n.machine_id) as machine_id,
    count(distinct n.machine_id) filter (n.cluster = f.cluster) as machines_there,
    any_value(n.machine_id) filter (n.cluster = f.cluster) as machine_there
  from forms as f
  inner join machine_names as n
    on f.name = n.name and (f.complete or n.complete)
  group by all
),

leads as (
  select
    series,
    rank,
    complete,
    case when machines = 1 then machine_id when machines_there = 1 then machine_there end
      as machine_id
  from named_machines
),

first_leads as (
  select
    series,
    first(machine_id order by rank asc, complete desc) as machine_id
  from leads
  where machine_id is not null
  group by series
)

select
  series.series,
  coalesce(first_leads.machine_id, series.hosts[1]) as machine_id,
  first_leads.machine_id is not null as known
from series
left join first_leads using (series)
