-- materialized
-- For how long was each waiting attempt held, over quota, or without room?
-- One row per method of knowing the quota and attempt with a trusted wait of a known gang.
--   method           as in vc_quotas; none: no quota is known and none can be estimated
--   job_id           job
--   attempt          which attempt, from 1
--   vc               virtual cluster
--   gpus             gang size
--   first            true for the first attempt, false for a retry
--   wait_s           seconds waited
--   held_s           of these, before the job was eligible
--   fair_share_s     of these, while its GPUs would have put its virtual cluster over its quota
--   fragmentation_s  of these, within quota, while the gang did not fit on the fewest machines of
--                    its pool that can hold it
--   full_s           of the last, while the pool had fewer GPUs free than the gang at all
--   unexplained_s    of these, while none of this applied: there was room within the quota
with methods as (
  select distinct method
  from vc_quotas
  union all
  select 'none' as method
  where not exists (select 1 from vc_quotas)
),

-- numbered, so that what is sorted by moments need not carry names
episodes as materialized (
  select
    row_number() over () as episode,
    w.*,
    job_pools.pool,
    2 * (epoch_us(w.since_at) + (1e6 * w.held_s)::bigint) + 1 as since,
    2 * epoch_us(w.started_at) + 1 as until
  from trusted_waits as w
  inner join job_pools using (job_id)
),

-- both ends of a wait, at which the clocks of quota_limits and shortages are read
ends as (
  select
    episode,
    vc,
    pool,
    gpus,
    unnest([since, until]) as moment,
    unnest([-1, 1]) as sign
  from episodes
  where until > since
),

short as (
  select
    ends.*,
    reading(s.no_fit_us, s.no_fit, s.moment, ends.moment) as no_fit_us,
    reading(s.too_few_us, s.too_few, s.moment, ends.moment) as total_us
  from ends
  asof left join shortages as s
    on ends.pool = s.pool and ends.gpus = s.gpus and ends.moment >= s.moment
),

readings as (
  select
    methods.method,
    e.episode,
    e.sign,
    e.no_fit_us,
    e.total_us,
    reading(q.over_us, q.over, q.moment, e.moment) as over_us,
    coalesce(q.over_no_fit_us + case when q.over then e.no_fit_us - q.no_fit_us else 0 end, 0)
      as over_no_fit_us,
    coalesce(q.over_total_us + case when q.over then e.total_us - q.total_us else 0 end, 0)
      as over_total_us
  from short as e
  cross join methods
  asof left join quota_limits as q
    on
      methods.method = q.method
      and e.vc = q.vc
      and e.pool = q.pool
      and e.gpus = q.gpus
      and e.moment >= q.moment
),

spans as (
  select
    method,
    episode,
    sum(sign * over_us) / 1e6 as fair_share_s,
    sum(sign * (no_fit_us - over_no_fit_us)) / 1e6 as fragmentation_s,
    sum(sign * (total_us - over_total_us)) / 1e6 as full_s
  from readings
  group by all
)

select
  methods.method,
  e.job_id,
  e.attempt,
  e.vc,
  e.gpus,
  e.first,
  e.wait_s,
  e.held_s,
  coalesce(spans.fair_share_s, 0) as fair_share_s,
  coalesce(spans.fragmentation_s, 0) as fragmentation_s,
  coalesce(spans.full_s, 0) as full_s,
  e.wait_s - e.held_s - coalesce(spans.fair_share_s + spans.fragmentation_s, 0) as unexplained_s
from episodes as e
cross join methods
left join spans using (method, episode)
