-- How much of the waiting is of jobs that are held, throttled, refused, or pending for their turn?
-- One row per state, gang size and last recorded reason.
--   state        held, throttled, refused or pending: see wait_spans
--   gang         gang-size bucket
--   reason       reason that was last recorded; (none): nothing but turn and machines
--   attempts     attempts that spent time in the state
--   started      of these, attempts that started in the end
--   wait_h       hours that they spent in it
--   gpu_wait_h   hours that their GPUs were waited for in it
--   wait_p50_s   median of their seconds in it
--   wait_p90_s   what 90 % of these do not exceed
with parts as (
  select
    gang_bucket(gpus) as gang,
    coalesce(reason, '(none)') as reason,
    outcome,
    gpus,
    unnest(['held', 'throttled', 'refused', 'pending']) as state,
    unnest([held_s, throttled_s, refused_s, pending_s]) as wait_s
  from wait_spans
)

select
  state,
  gang,
  reason,
  count(*) as attempts,
  count(*) filter (where outcome = 'started') as started,
  sum(wait_s) / 3600 as wait_h,
  sum(wait_s * gpus) / 3600 as gpu_wait_h,
  quantile_cont(wait_s, 0.5) as wait_p50_s,
  quantile_cont(wait_s, 0.9) as wait_p90_s
from parts
where wait_s > 0
group by all
order by all
