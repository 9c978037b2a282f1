-- materialized
-- How long may a wait last that counts as start-up?
-- One row per method of knowing the quota with ten waits during which no cap bound, the pool had
-- room, and nothing waited ahead. During these waits, only the start-up of the job is known to take
-- time.
--   method     how the quota is known, as in wait_parts
--   longest_s  upper fence of the logarithms of the counted waits in seconds, starts without a wait
--              included (Tukey 1977). The fence is the third quartile plus 1.5 times the distance
--              of the quartiles, but at most an hour. Of log-normal times, 0.35 % are longer. A
--              limit below a second, the unit of most logs, counts as a second
with started as (
  from contending_attempts
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
  union all
  select
    methods.method,
    0 as room_s
  from started
  cross join quota_methods as methods
  where started.until_us <= started.eligible_us and started.launch_us = 0
),

quartiles as (
  select
    method,
    count(*) filter (where room_s > 0) as waits,
    quantile_cont(greatest(room_s, 1), 0.25) as q1,
    quantile_cont(greatest(room_s, 1), 0.75) as q3
  from open_waits
  group by method
)

select
  method,
  least(q3 * pow(q3 / q1, 1.5), 3600) as longest_s
from quartiles
where waits >= 10
