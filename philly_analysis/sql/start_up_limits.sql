-- How long may a wait last that counts as start-up?
-- One row per method of knowing the quota with ten waits during which no cap bound, the pool had
-- room, and nothing waited ahead: then nothing but the start-up of the job is known to take time.
--   method     as in wait_parts
--   waits      number of such waits
--   longest_s  upper fence of the logarithms of their seconds (Tukey 1977): above the third
--              quartile by 1.5 times the distance of the quartiles, but at most an hour. Of
--              log-normal times, 0.35 % are longer
with started as (
  select
    job_id,
    attempt
  from queued_attempts
  where outcome = 'started'
),

open_waits as (
  select
    method,
    sum(room_s) as room_s
  from wait_parts
  semi join started using (job_id, attempt)
  group by method, job_id, attempt
  having
    room_s > 0
    and sum(too_few_s + scattered_s + stranded_s + behind_s) = 0
    and count(cap) = 0
),

quartiles as (
  select
    method,
    count(*) as waits,
    quantile_cont(room_s, 0.25) as q1,
    quantile_cont(room_s, 0.75) as q3
  from open_waits
  group by method
)

select
  method,
  waits,
  least(q3 * pow(q3 / q1, 1.5), 3600) as longest_s
from quartiles
where waits >= 10
