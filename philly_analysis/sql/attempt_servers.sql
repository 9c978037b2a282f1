-- On how many servers did each attempt run, on how few could it have, and with whom?
-- One row per attempt with placements.
--   job_id          job
--   attempt         which attempt, from 1
--   gpus            GPUs placed
--   servers         distinct servers
--   fewest_servers  fewest servers that hold that many GPUs, were the whole cluster empty
--   spread          true when it ran on more than the fewest
--   whole           true when it held every GPU of each of its servers
--   co_tenants      true when another attempt held a GPU of one of its servers meanwhile;
--                   null: its start or end is unknown
with held as (
  select
    p.job_id,
    p.attempt,
    p.machine_id,
    a.started_at,
    a.ended_at,
    count(*) as gpus
  from placements as p
  inner join attempts as a
    on p.job_id = a.job_id and p.attempt = a.attempt
  group by all
),

met as (
  select
    *,
    case
      when ended_at > started_at
        then
          coalesce(max(ended_at) over before_it > started_at, false)
          or coalesce(min(started_at) over after_it < ended_at, false)
      -- an attempt that held its GPUs for no time meets nobody
      when ended_at = started_at then false
    end as co_tenants
  from held
  window
    before_it as (
      partition by machine_id, ended_at > started_at
      order by started_at, ended_at, job_id, attempt
      rows between unbounded preceding and 1 preceding
    ),
    after_it as (
      partition by machine_id, ended_at > started_at
      order by started_at, ended_at, job_id, attempt
      rows between 1 following and 1 following
    )
),

attempts_placed as (
  select
    met.job_id,
    met.attempt,
    sum(met.gpus)::integer as gpus,
    count(*)::integer as servers,
    bool_and(met.gpus >= machines.gpus) as whole,
    case when bool_and(met.co_tenants is not null) then bool_or(met.co_tenants) end as co_tenants
  from met
  inner join machines
    on met.machine_id = machines.machine_id
  group by met.job_id, met.attempt
),

-- the n largest servers have so many GPUs together
largest as (
  select
    row_number() over (order by gpus desc) as servers,
    sum(gpus) over (order by gpus desc rows unbounded preceding) as held
  from machines
),

fewest as (
  select
    sizes.gpus,
    min(largest.servers)::integer as servers
  from (select distinct gpus from attempts_placed) as sizes
  left join largest
    on sizes.gpus <= largest.held
  group by sizes.gpus
)

select
  a.job_id,
  a.attempt,
  a.gpus,
  a.servers,
  coalesce(fewest.servers, a.servers) as fewest_servers,
  a.servers > fewest_servers as spread,
  a.whole,
  a.co_tenants
from attempts_placed as a
left join fewest
  on a.gpus = fewest.gpus
