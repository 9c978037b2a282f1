-- materialized
-- Of which virtual clusters do waits show that the quota holds?
-- One row per method of knowing the quota and virtual cluster whose quota ever bound.
--   method  how the quota is known, as in vc_quotas
--   vc      virtual cluster
--   shown   true if the quota is given, or if jobs over an estimated quota waited although nothing
--           else kept them, for at least a tenth of the time
select
  p.method,
  q.vc,
  coalesce(
    p.method = 'given'
    or sum(p.room_s)
    >= 0.1 * sum(p.too_few_s + p.scattered_s + p.stranded_s + p.behind_s + p.room_s),
    false
  ) as shown
from wait_parts as p
inner join queued_attempts as q using (job_id, attempt)
where p.cap = 'quota'
group by p.method, q.vc
