-- What do a GPU's samples say around the starts and ends of attempts?
-- One row per event and sample within 12 hours and 20 minutes of it.
--   event_no   which event: its number in clock_events
--   lag_min    minutes from the event to the minute of the sample
--   minutes    minutes that the sample stands for, one at least
--   util_pct   utilisation of the GPU that the attempt held
select
  w.number as event_no,
  date_diff('minute', w.event_at, s.sampled_at)::smallint as lag_min,
  greatest(ceil(coalesce(s.seconds, 60) / 60), 1)::smallint as minutes,
  s.util_pct[w.gpu + 1] as util_pct
from gpu_samples as s
inner join clock_windows as w
  on s.machine_id = w.machine_id and date_trunc('day', s.sampled_at) = w.day
where
  s.sampled_at >= w.from_at
  and s.sampled_at < w.until_at
  and s.util_pct[w.gpu + 1] is not null
