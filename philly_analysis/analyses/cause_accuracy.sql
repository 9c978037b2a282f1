-- Which causes of waits are found, where a simulation knows them?
-- One row per (method, cause, found).
--   method  how the quota is known, as in study_causes
--   cause   start_up, fair_share, fragmentation or other: the known cause of most of the wait
--   found   cause that the log shows, as in study_causes; other: unknown in study_causes
--   waits   attempts
--   wait_s  seconds that the attempts waited
select
  w.method,
  case greatest(k.start_up_s, k.fair_share_s, k.fragmentation_s, k.other_s)
    when k.start_up_s then 'start_up'
    when k.fair_share_s then 'fair_share'
    when k.fragmentation_s then 'fragmentation'
    else 'other'
  end as cause,
  case w.cause when 'unknown' then 'other' else w.cause end as found,
  count(*) as waits,
  total(w.wait_s) as wait_s
from study_causes as w
inner join known_causes as k using (job_id, attempt)
where w.wait_s > 0
group by all
order by all
