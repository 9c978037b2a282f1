-- materialized
-- What is each virtual cluster's quota of GPUs?
-- One row per virtual cluster and method. Estimates stand only where no quota is given, several
-- virtual clusters exist, and the log states neither limits nor timed reasons of the scheduler.
--   method  given: the quota is known; peak, p99 and p95: the quota is estimated from the GPUs that
--           the virtual cluster used at once. The use did not exceed the estimate during 100, 99
--           and 95 % of the time. The time counts from the virtual cluster's first start, but not
--           before the log is complete, to its last end
--   vc      virtual cluster
--   gpus    quota; an estimate is at least the largest gang that the virtual cluster ran
with levels as (
  select
    vc_use.vc,
    vc_use.gpus_after as gpus,
    lead(vc_use.moment) over (partition by vc_use.vc order by vc_use.moment) // 2
    - greatest(vc_use.moment // 2, epoch_us(snapshot.complete_from)) as held_us
  from vc_use
  cross join snapshot
),

spells as (
  select
    vc,
    gpus,
    sum(held_us) as held_us
  from levels
  where held_us > 0
  group by all
),

shares as (
  select
    vc,
    gpus,
    sum(held_us) over (partition by vc order by gpus)
    / sum(held_us) over (partition by vc) as not_exceeded
  from spells
),

methods as (
  select unnest(['p95', 'p99', 'peak']) as method, unnest([0.95, 0.99, 1.0]) as frac
),

used as (
  select
    methods.method,
    shares.vc,
    min(shares.gpus) as gpus
  from shares
  inner join methods
    on shares.not_exceeded >= methods.frac - 1e-12
  where
    (select count(*) from given_quotas) = 0
    and (select count(distinct vc) from vc_use) > 1
    and not exists (select 1 from given_limits)
    and not exists (select 1 from given_queue_states)
  group by all
),

largest as (
  select
    vc,
    max(gpus) as gpus
  from attempt_runs
  group by vc
)

select
  'given' as method,
  vc,
  gpus::bigint as gpus
from given_quotas
union all by name
select
  used.method,
  used.vc,
  greatest(used.gpus, largest.gpus)::bigint as gpus
from used
inner join largest using (vc)
