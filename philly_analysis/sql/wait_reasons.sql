-- What does the reason say for which Slurm let a job wait?
-- One row per pattern of reasons; where several fit, the first counts. From Slurm's own list, "Job
-- Reason Codes" (https://slurm.schedmd.com/job_reason_codes.html), and the names in its library.
--   place    order of the pattern, from 1
--   pattern  regular expression that a whole reason fits
--   state    held: not to start yet; throttled: at a limit of its account, QOS, user or array;
--            refused: it asks for more than it may, and cannot start as it is; pending: for its
--            turn, or for machines
--   meaning  why it waits
with listed (place, pattern, state, meaning) as (
  values
  (1, 'Dependency|DependencyNeverSatisfied', 'held', 'another job must end first'),
  (2, 'BeginTime|FedJobLock', 'held', 'it is not to begin yet'),
  (3, 'JobHeld(User|Admin)|JobHoldMaxRequeue', 'held', 'its user, or the cluster, holds it'),
  (4, 'launch.failed.requeued.held', 'held', 'it did not start, and is held'),
  (5, 'JobArrayTaskLimit', 'throttled', 'as many tasks of its array run as it allows'),
  (6, '(Assoc|QOS)Max[A-Za-z]*Per(Job|Node)(Limit)?', 'refused', 'it asks for more than a job may'),
  (7, 'QOSMin[A-Za-z]*', 'refused', 'it asks for less than a job of its QOS must'),
  (8, 'QOS(NotAllowed|TimeLimit|ResourceLimit)', 'refused', 'its QOS does not allow it'),
  (9, 'AssociationTimeLimit', 'refused', 'it asks for more time than its association may'),
  (10, 'Invalid(Account|QOS)|AccountNotAllowed', 'refused', 'its account or QOS is not valid here'),
  (11, 'Partition(Node|Time)Limit|PartitionConfig', 'refused', 'its partition does not allow it'),
  (12, 'BadConstraints|MaxMemPerLimit', 'refused', 'no machine is as it asks'),
  (13, 'Assoc(Grp|Max)[A-Za-z]*', 'throttled', 'its association is at a limit'),
  (14, 'QOS(Grp|Max)[A-Za-z]*', 'throttled', 'its QOS is at a limit'),
  (15, 'Max[A-Za-z]*PerAccount', 'throttled', 'its account is at a limit of the QOS'),
  (16, 'Association(Job|Resource)Limit|QOSJobLimit', 'throttled', 'it is at a limit'),
  (17, 'AccountingPolicy|QOSUsageThreshold', 'throttled', 'a limit of accounting holds it back')
)

select
  place,
  pattern,
  state,
  meaning
from listed
