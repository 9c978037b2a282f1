-- kept
-- Do the records in each file of Slurm's accounting list servers?
-- One row per file, and whether records list servers: a file may have records of both kinds.
select distinct
  source_file,
  nodelist is not null as lists_servers
from sacct
