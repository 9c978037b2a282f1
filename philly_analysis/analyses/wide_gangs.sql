-- Which gangs run on more servers than they need?
-- One row per gang size, virtual cluster and account, of placed attempts on two GPUs or more.
--   gang        gang-size bucket
--   vc          virtual cluster or partition; (none): not known
--   account     account; (none): not known
--   attempts    attempts
--   wide        of these, attempts on more servers than the fewest that hold their GPUs
--   servers     servers that the wide ones ran on, added up
--   fewest      servers that would have sufficed for them, added up
--   gpu_h       GPU hours of all attempts, where known
--   wide_gpu_h  GPU hours of the wide ones
select
  gang,
  vc,
  account,
  count(*) as attempts,
  count(*) filter (where wide) as wide,
  coalesce(sum(servers) filter (where wide), 0)::bigint as servers,
  coalesce(sum(fewest) filter (where wide), 0)::bigint as fewest,
  coalesce(sum(gpu_h), 0) as gpu_h,
  coalesce(sum(gpu_h) filter (where wide), 0) as wide_gpu_h
from wide_attempts
group by all
order by all
