-- Which tasks are in each of Slurm's lists of an array's tasks?
-- One row per distinct list and range.
select distinct
  tasks,
  first,
  last,
  step
from task_lists
