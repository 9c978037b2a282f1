-- Do readings of GPUs stand for whole minutes of the log, as in the Philly archive?
-- One row.
--   whole  true where the readings come from the scheduler's log, which names minutes: an attempt
--          has the readings of every minute in which it ran. False where the readings come from
--          telemetry: an attempt has the part of each reading within its run.
select count(*) = 0 as whole
from telemetry_devices
