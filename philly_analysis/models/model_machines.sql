-- What servers does the cluster have?
-- One row per GPU count.
--   gpus      GPUs of a server
--   machines  servers with so many
select
  gpus,
  count(*) as machines
from machines
where gpus > 0
group by gpus
order by all
