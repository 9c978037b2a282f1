-- materialized
-- Which machines ever ran an attempt?
-- One row per machine.
--   machine_id  identifier of the server
select distinct machine_id
from placements
