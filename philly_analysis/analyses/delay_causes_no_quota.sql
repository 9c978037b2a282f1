-- How many attempts waited in virtual clusters whose quota is not given?
-- One row.
--   waits  attempts with a wait, trusted or not, and a known gang
select count(*) as waits
from waits
anti join given_quotas using (vc)
where gpus is not null
order by all
