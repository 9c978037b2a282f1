-- Which limits on what runs at once did administrators set?
-- One row per limit, resource and account whose jobs count. Of several prints, the print whose name
-- sorts last counts. A trace of several clusters has no limits.
with recursive latest as (
  select *
  from limit_settings
  qualify source_file = max(source_file) over (partition by kind, cluster)
),

clusters as (
  select
    count(distinct cluster) as n,
    any_value(cluster) as cluster
  from record_clusters
),

settings as (
  select latest.*
  from latest
  cross join clusters
  where clusters.n <= 1 and coalesce(latest.cluster = clusters.cluster, true)
),

-- an account, and each account below it
families as (
  select distinct
    account,
    account as member
  from settings
  where kind = 'association' and "user" is null and account is not null
  union
  select
    families.account,
    children.account as member
  from families
  inner join settings as children
    on
      families.member = children.parent
      and families.member <> children.account
      and children.kind = 'association'
      and children."user" is null
),

-- limits of associations: of accounts on all their jobs together, of users on each user's
of_associations as (
  select
    if(s."user" is null, 'account', 'user') as scope,
    'account ' || s.account || coalesce(' user ' || s."user", '')
    || coalesce(' partition ' || s."partition", '') as owner,
    case
      when s.account = 'root' and s."user" is null then null
      when s."user" is null then families.member
      else s.account
    end as account,
    s."user",
    null::varchar as qos,
    s."partition" as vc,
    null::varchar as per,
    s.setting,
    s.value
  from settings as s
  left join families
    on s."user" is null and s.account <> 'root' and s.account = families.account
  where
    s.kind = 'association'
    and (starts_with(s.setting, 'Grp') or (s.setting = 'MaxJobs' and s."user" is not null))
),

qos_settings as (
  select
    qos,
    setting,
    value,
    case
      when ends_with(setting, 'PU') then 'user'
      when ends_with(setting, 'PA') then 'account'
    end as per
  from settings
  where kind = 'qos' and setting is not null and setting <> 'MaxJobs'
),

of_qos as (
  select
    'qos' as scope,
    'QOS ' || qos as owner,
    null::varchar as account,
    null::varchar as "user",
    qos,
    null::varchar as vc,
    per,
    setting,
    value
  from qos_settings
),

of_partitions as (
  select
    'partition' as scope,
    'partition ' || p."partition" as owner,
    null::varchar as account,
    null::varchar as "user",
    null::varchar as qos,
    p."partition" as vc,
    qos_settings.per,
    qos_settings.setting,
    qos_settings.value
  from settings as p
  inner join qos_settings using (qos)
  where p.kind = 'partition'
),

listed as (
  from of_associations
  union all by name
  from of_qos
  union all by name
  from of_partitions
),

amounts as (
  select
    listed.* exclude (setting, value),
    setting_amounts.* exclude (setting, value)
  from listed
  inner join setting_amounts using (setting, value)
)

select distinct
  owner || coalesce(', each ' || per, '') || ': ' || format('{:g}', amount) || ' '
  || case resource
    when 'gpus' then coalesce(gpu_model || ' ', '') || 'GPUs'
    when 'cpus' then 'CPUs'
    when 'mem_gb' then 'GB'
    else resource
  end as name,
  scope,
  account,
  "user",
  qos,
  vc,
  per,
  gpu_model,
  resource,
  amount,
  'prints of sacctmgr and scontrol' as source_file,
  null::bigint as source_line,
  owner as raw,
  null::varchar as reject
from amounts
