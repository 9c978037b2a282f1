-- How long do attempts wait, by user, virtual cluster and week?
-- One row per (kind, name).
--   kind    user, vc or week
--   name    user, virtual cluster, or the Monday that the week of the wait's begin starts with
--   waits   attempts with a trusted wait
--   p5_s    wait in seconds that 5 % do not exceed; likewise the next ones
--   p25_s   25 %
--   p50_s   half
--   p75_s   75 %
--   p95_s   95 %
--   p99_s   99 %
with members as (
  select
    unnest(['user', 'vc', 'week']) as kind,
    unnest([
      coalesce(w.user, '(none)'),
      coalesce(w.vc, '(none)'),
      strftime(date_trunc('week', w.since_at), '%Y-%m-%d')
    ]) as name,
    w.wait_s
  from waits as w
  where w.flag is null and w.gpus > 0
)

select
  kind,
  name,
  count(*) as waits,
  quantile_cont(wait_s, 0.05) as p5_s,
  quantile_cont(wait_s, 0.25) as p25_s,
  quantile_cont(wait_s, 0.5) as p50_s,
  quantile_cont(wait_s, 0.75) as p75_s,
  quantile_cont(wait_s, 0.95) as p95_s,
  quantile_cont(wait_s, 0.99) as p99_s
from members
group by all
order by all
