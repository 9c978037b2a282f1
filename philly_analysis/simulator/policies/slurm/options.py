"""Declare Slurm's options, and when and for how long jobs may run under them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, STALL, Bounds, knob
from philly_analysis.simulator.policies.limit import Limit
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.slurm.settings import Settings, read_settings
from philly_analysis.simulator.policies.slurm.site import Site, site_of
from philly_analysis.workload import JobSpec, Machine, Workload

_WEIGHT = Bounds(0, 1e9)
_COUNT = Bounds(0, 1_000_000)


@dataclass(frozen=True)
class Options(Policy):
    """Options of Slurm, each named as in slurm.conf, in seconds unless Slurm has minutes."""

    settings: str = knob(
        "", "folder with the output of scontrol show config, partition, reservation, node, and "
        "sacctmgr show assoc, qos, event -P"
    )  # fmt: skip
    PriorityWeightAge: float = knob(
        0.0, "weight of the age (slurm.conf, PriorityWeightAge)", within=_WEIGHT
    )
    PriorityMaxAge: float = knob(
        604_800.0, "age in seconds with the greatest factor (slurm.conf, PriorityMaxAge)",
        within=Bounds(1, LONG_S),
    )  # fmt: skip
    PriorityWeightFairshare: float = knob(
        0.0, "weight of the fair share (slurm.conf, PriorityWeightFairshare)", within=_WEIGHT
    )
    PriorityDecayHalfLife: float = knob(
        604_800.0,
        "seconds after which use counts half; 0: for ever (slurm.conf, PriorityDecayHalfLife)",
        within=Bounds(0, LONG_S),
    )
    PriorityCalcPeriod: float = knob(
        300.0, "seconds between computations of priorities (slurm.conf, PriorityCalcPeriod)",
        within=Bounds(10, LONG_S),
    )  # fmt: skip
    PriorityWeightJobSize: float = knob(
        0.0, "weight of the job's size (slurm.conf, PriorityWeightJobSize)", within=_WEIGHT
    )
    PriorityFavorSmall: bool = knob(
        False, "whether small jobs have the greater size factor (slurm.conf, PriorityFavorSmall)"
    )
    PriorityWeightPartition: float = knob(
        0.0, "weight of the partition's PriorityJobFactor (slurm.conf, PriorityWeightPartition)",
        within=_WEIGHT,
    )  # fmt: skip
    PriorityWeightQOS: float = knob(
        0.0, "weight of the QOS's priority (slurm.conf, PriorityWeightQOS)", within=_WEIGHT
    )
    backfill: bool = knob(True, "SchedulerType is sched/backfill, not sched/builtin (slurm.conf)")
    bf_interval: float = knob(
        30.0, "seconds between backfill cycles (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 1e6),
    )  # fmt: skip
    bf_window: float = knob(
        1440.0, "minutes that backfill plans ahead (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 43_200),
    )  # fmt: skip
    bf_resolution: float = knob(
        60.0, "seconds to which backfill rounds planned times (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 3600),
    )  # fmt: skip
    bf_max_job_test: int = knob(
        500, "jobs that a backfill cycle considers (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 1_000_000),
    )  # fmt: skip
    bf_job_part_count_reserve: int = knob(
        0, "jobs of each partition with a planned start; 0: all (slurm.conf, SchedulerParameters)",
        within=_COUNT,
    )  # fmt: skip
    batch_sched_delay: float = knob(
        3.0, "seconds between runs of the main scheduler (slurm.conf, SchedulerParameters)",
        within=Bounds(0, 3600),
    )  # fmt: skip
    default_queue_depth: int = knob(
        100, "jobs that the main scheduler considers (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 1_000_000),
    )  # fmt: skip
    preempt: bool = knob(
        False, "PreemptType is preempt/qos with PreemptMode=REQUEUE (slurm.conf, PreemptType)"
    )
    epilog: float = knob(
        1.0, "seconds from a job's end until its servers are free (slurm.conf, Epilog); 1: logs "
        "have whole seconds",
        within=Bounds(0, 3600),
    )  # fmt: skip
    cred_expire: float = knob(
        120.0, "seconds that a requeued job waits (slurm.conf, AuthInfo)", within=STALL
    )

    _site: ClassVar[Site] = Site()

    def for_workload(self, workload: Workload, machines: Sequence[Machine]) -> Self:
        """Return the policy with the limits, partitions and reservations of a workload."""
        settings = read_settings(self.settings) if self.settings else Settings()
        printed: dict[str, Any] = {
            f.name: _like(f.default, value)
            for f in fields(self)
            if (value := settings.knobs.get(f.name)) is not None
            and getattr(self, f.name) == f.default
        }
        return replace(self, **printed).at(site_of(workload, machines, settings))

    def notes(self) -> tuple[str, ...]:
        """Return sentences on the limits, partitions, reservations and releases that are used."""
        return self._site.notes()

    def within(self, limits: Sequence[Limit]) -> Self:
        """Return the policy with other limits."""
        return self.at(replace(self._site, limits=tuple(limits)))

    def at(self, site: Site) -> Self:
        """Return the policy for a site."""
        configured = replace(self)
        object.__setattr__(configured, "_site", site)
        return configured

    def prepare(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with the accounts and users of the jobs."""
        owners = dict.fromkeys((spec.account, spec.user) for spec in specs)
        return self.at(replace(self._site, owners=tuple(owners)))

    def group(self, job: Job, now_s: float) -> int | None:
        """Return a group of the job alone, from the time on at which the job is eligible."""
        return job.index if self._eligible_s(job) <= now_s else None

    def key(self, job: Job, now_s: float) -> float:
        """Return since when the job is eligible."""
        return self._eligible_s(job)

    def running_key(self, job: Job, now_s: float) -> float:
        """Return when the job reaches its time limit."""
        return self.end_s(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job becomes eligible."""
        eligible_s = self._eligible_s(job)
        return eligible_s if not job.running and eligible_s > now_s else FOREVER

    def _eligible_s(self, job: Job) -> float:
        """Return when a waiting job may start: as recorded, or some time after a requeue."""
        if job.started:
            return job.queued_s + self.cred_expire
        released_s = self._site.released_s.get(job.spec.job_id, 0.0)
        return max(job.queued_s, job.spec.eligible_s or 0.0, released_s)

    def limit_s(self, job: Job) -> float:
        """Return the time limit of a job, the time that the job is planned to run for."""
        return job.spec.time_limit_s or self._site.longest_s(job) or job.believed_left_s(0.0)

    def end_s(self, job: Job, now_s: float) -> float:
        """Return when a job reaches its time limit, as if a waiting job started now."""
        return (job.started_s if job.running else now_s) + self.limit_s(job)


def _like(default: object, value: float) -> float:
    """Return a number with the type of a knob's default."""
    if isinstance(default, bool):
        return bool(value)
    return int(value) if isinstance(default, int) else value
