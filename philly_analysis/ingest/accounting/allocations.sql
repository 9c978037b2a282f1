-- materialized
-- How many GPUs did each attempt have, and on which servers?
-- One row per attempt. Lists of servers, of GPUs on each server and of indices of GPUs have equal
-- lengths, and are null where the log does not name all servers.
with consumables as (
  select
    name,
    any_value(value) as value
  from accounting_settings
  where value in ('YES', 'NO', 'JOB', 'HOST')
  group by name
),

attempts_read as (
  select
    records.*,
    coalesce(
      records.gpus,
      records.gpus_per_slot * case when consumables.value = 'YES' then records.slots else 1 end
    )::integer as all_gpus
  from records
  left join consumables
    on records.gpu_resource = consumables.name
  where records.reject is null
),

parts as (
  -- servers of tasks of a parallel job, which have lines of their own
  select
    a.job_id,
    a.attempt,
    list(distinct p.hosts[1]) as hosts
  from attempts_read as a
  inner join records as p
    on
      a.job_id = p.job_id
      and p.event = 'part'
      and a.started_s <= p.started_s
      and a.ended_s >= p.started_s
  group by a.job_id, a.attempt
),

one_server as (
  select name as parallel
  from accounting_settings
  where value = '$pe_slots'
),

located as (
  select
    a.*,
    case
      when parts.hosts is not null then list_distinct(coalesce(a.hosts, []) || parts.hosts)
      -- a parallel environment may spread a job over servers that have no line
      when a.parallel is null or a.parallel in (from one_server) then a.hosts
    end as servers,
    parts.hosts is not null as in_parts
  from attempts_read as a
  left join parts using (job_id, attempt)
)

select
  job_id,
  attempt,
  all_gpus as gpus,
  moment(started_s) as started_at,
  moment(case when started_s is not null then ended_s end) as ended_at,
  servers,
  parallel is not null as in_environment,
  case
    when len(servers) = 1 and len(list_filter(gpu_indices, lambda i: i is not null)) = 0
      then [all_gpus]
    when in_parts then list_transform(servers, lambda _: null::integer)
    else host_gpus
  end as server_gpus,
  case
    when in_parts then list_transform(servers, lambda _: null::integer)
    else gpu_indices
  end as gpu_indices,
  source_file,
  source_line
from located
