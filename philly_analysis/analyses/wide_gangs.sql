-- Which gangs run on more servers than they need?
-- One row per gang size, virtual cluster and account, over placed attempts on two GPUs or more.
--   gang        gang-size bucket
--   vc          virtual cluster or partition; (none): not recorded
--   account     account of the job; (none): not recorded
--   attempts    attempts
--   wide        attempts on more servers than the fewest that hold their GPUs
--   servers     servers that the wide attempts ran on, in sum
--   fewest      servers that would have sufficed for the wide attempts, in sum
--   gpu_h       GPU hours of all attempts with a known run time
--   wide_gpu_h  GPU hours of the wide attempts with a known run time
select
  gang,
  vc,
  account,
  count(*) as attempts,
  count(*) filter (where wide) as wide,
  coalesce(sum(servers) filter (where wide), 0)::bigint as servers,
  coalesce(sum(fewest) filter (where wide), 0)::bigint as fewest,
  coalesce(total(gpu_h), 0) as gpu_h,
  coalesce(total(case when wide then gpu_h end), 0) as wide_gpu_h
from wide_attempts
group by all
order by all
