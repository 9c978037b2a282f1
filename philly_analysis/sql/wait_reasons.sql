-- Why does a job wait, by the reason that Slurm or Kueue states?
-- One row per pattern of reasons; where several patterns fit, the first counts. The patterns come
-- from Slurm's list "Job Reason Codes" (https://slurm.schedmd.com/job_reason_codes.html), from the
-- names in Slurm's library, and from the reasons of Kueue's conditions QuotaReserved, Admitted and
-- PodsReady (KEP-10852 of kubernetes-sigs/kueue).
--   place    order of the pattern, from 1
--   pattern  regular expression that a whole reason fits
--   cause    held: the job is not to start yet; limit: a limit that an administrator set; quota:
--            the quota of the virtual cluster, or of its cohort, is in use; start_up: the scheduler
--            prepares the start; pending: the job waits for its turn, or for servers
--   kind     what holds the job (dependency, begin time, hold, reservation, queue or admission
--            check); for a limit, whose limit it is (account, qos, user, partition, array or
--            licence); request: the job asks for more than is permitted; launch: the job has
--            its GPUs, and starts; order: the job waits for its turn; topology: free GPUs are not
--            close together
--   meaning  why the job waits
with listed (place, pattern, cause, kind, meaning) as (
  values
  (1, 'Dependency|DependencyNeverSatisfied', 'held', 'dependency', 'another job must end first'),
  (2, 'BeginTime|FedJobLock', 'held', 'begin time', 'the job is not to begin yet'),
  (3, 'JobHeld(User|Admin)|JobHoldMaxRequeue', 'held', 'hold', 'a user or administrator holds it'),
  (4, '(launch|job).*held.*|RequeueExitHold', 'held', 'hold', 'requeued, and is held'),
  (5, 'Reservation(Deleted)?', 'held', 'reservation', 'the reservation of the job is not active'),
  (6, 'JobArrayTaskLimit', 'limit', 'array', 'as many tasks run as the array allows'),
  (7, '(Assoc|QOS)Max[A-Za-z]*Per(Job|Node)(Limit)?', 'limit', 'request', 'more than a job may'),
  (8, 'QOSMin[A-Za-z]*', 'limit', 'request', 'less than a job of the QOS must ask for'),
  (9, 'QOS(NotAllowed|TimeLimit|ResourceLimit)', 'limit', 'request', 'the QOS does not allow it'),
  (10, 'AssociationTimeLimit', 'limit', 'request', 'more time than the association may'),
  (11, 'Invalid(Account|QOS)|AccountNotAllowed', 'limit', 'request', 'account or QOS not valid'),
  (12, 'Partition(Node|Time)Limit|PartitionConfig', 'limit', 'request', 'the partition forbids it'),
  (13, 'BadConstraints|MaxMemPerLimit', 'limit', 'request', 'no server is as the job asks'),
  (14, 'QOS[A-Za-z]*Per(User|U)(Limit)?', 'limit', 'user', 'the user is at a limit of the QOS'),
  (15, 'QOS[A-Za-z]*Per(Account|A)(Limit)?', 'limit', 'account', 'the account is at a QOS limit'),
  (16, 'Assoc(Grp|Max)[A-Za-z]*', 'limit', 'account', 'the association is at a limit'),
  (17, 'QOS(Grp|Max)[A-Za-z]*', 'limit', 'qos', 'the QOS is at a limit'),
  (18, 'Max[A-Za-z]*PerAccount', 'limit', 'account', 'the account is at a limit of the QOS'),
  (19, 'Association(Job|Resource)Limit', 'limit', 'account', 'the association is at a limit'),
  (20, 'QOSJobLimit|QOSUsageThreshold', 'limit', 'qos', 'the QOS is at a limit'),
  (21, 'AccountingPolicy', 'limit', 'account', 'a limit of accounting'),
  (22, 'Licenses', 'limit', 'licence', 'no licence is free'),
  (23, 'None|Cleaning|Prolog', 'start_up', null, 'the scheduler prepares the start'),
  (24, 'Priority|PendingEvaluation', 'pending', 'order', 'other jobs have their turn before'),
  (25, 'WaitingForPodsReady|Waiting', 'pending', 'order', 'admitted jobs must be ready first'),
  (26, 'WaitingForQuota', 'quota', null, 'the quota is in use'),
  (27, 'WaitingForPreemptedWorkloads', 'quota', null, 'preempted jobs must free the quota'),
  (28, 'TopologyPlacementFailed', 'pending', 'topology', 'GPUs are not free close together'),
  (29, 'ExceedsMaxQuota', 'limit', 'request', 'more than the quota and what it may borrow'),
  (30, 'NoMatchingFlavor', 'limit', 'request', 'no server is as the job asks'),
  (31, 'Suspended|Misconfigured|Inadmissible', 'held', 'queue', 'the queue is stopped or missing'),
  (32, 'AdmissionGated|OnHold', 'held', 'hold', 'a user or administrator holds it'),
  (33, 'UnsatisfiedAdmissionChecks', 'held', 'admission check', 'a check must pass first'),
  (34, 'PendingDelayedTopologyRequests', 'held', 'admission check', 'servers are chosen later'),
  (35, 'WaitForStart', 'start_up', 'launch', 'pods of the admitted job are not ready')
)

select
  place,
  pattern,
  cause,
  kind,
  meaning
from listed
