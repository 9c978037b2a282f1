-- Which quota of GPUs has each ClusterQueue?
-- One row per ClusterQueue with a nominal quota of GPUs, as the latest snapshot states it.
select
  name as vc,
  gpus,
  source_file,
  source_line,
  raw,
  fault as reject
from latest_queues
