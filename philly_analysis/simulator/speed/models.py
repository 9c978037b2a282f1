"""Compute the speed of a job on its allocation, relative to the recorded run."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from philly_analysis.errors import UnknownNameError
from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.topology import RACK, Topology
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.speed.profiles import PROFILES, Profile
from philly_analysis.simulator.speed.scaling import SCALING, well_tuned
from philly_analysis.study import SPREADS, curve, table_4, table_5
from philly_analysis.workload import JobSpec


@dataclass(frozen=True)
class Speed:
    """As recorded, whatever the placement and the neighbours.

    The other speed models are subclasses.
    """

    neighbourly: ClassVar[bool] = False
    """Whether jobs on the same machines affect the speed."""

    by_place: ClassVar[bool] = False
    """Whether the recorded placement slowed the recorded run, too."""

    by_use: ClassVar[bool] = False
    """Whether it uses the GPU utilisation of jobs."""

    @property
    def note(self) -> str:
        """A sentence on the model."""
        return (type(self).__doc__ or "").partition("\n")[0]

    def complete(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with the fields that the model needs, drawn where unknown."""
        return specs

    def on(self, topology: Topology) -> Self:
        """Return the model for machines of a topology; each simulation calls it once."""
        return self

    def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
        """Return the seconds of its recorded run that a job completes in one second.

        Parameters
        ----------
        allocation
            What it would run on.
        neighbours
            Other running jobs on the same machines; empty unless ``neighbourly``.
        """
        return 1.0


AS_RECORDED = Speed()

_IMAGES_PER_S = table_4()


@dataclass(frozen=True)
class Locality(Speed):
    """Slower when spread over servers, and beside other gangs: the study's Tables 4 and 5.

    Full speed is that on the fewest servers, alone. A gang beside another has the speed of Table 4
    or that of its spread, whichever is lower: spread is never faster than packed, nor shared faster
    than alone. Single GPUs are never slowed, and slow no other job: the tables have no data on
    them.

    Attributes
    ----------
    spread
        (servers, speed) of a gang that fits on one server: Table 4, images/s of 2 GPUs on two
        servers against one.
    spread_large
        (servers relative to the fewest, speed) of a larger gang: Table 5, mean utilisation of
        16 GPUs on 4 and 8 servers against 2.
    beside
        Speed of a gang beside another, on the fewest servers and on more: Table 4, IntraServer and
        InterServer against SameServer.
    interference
        Whether gangs beside each other slow each other.
    biggest_server
        GPUs of the servers on which the tables were measured.
    across
        Speed of a gang over several racks, over several pods, …, relative to one rack; the last
        holds for all beyond. The study measured none: 1 unless set.
    topology
        Racks and pods of the machines; set by the simulation.
    """

    neighbourly: ClassVar[bool] = True
    by_place: ClassVar[bool] = True

    spread: tuple[tuple[int, float], ...] = (
        (1, 1.0),
        (2, _IMAGES_PER_S["DiffServer"] / _IMAGES_PER_S["SameServer"]),
    )
    spread_large: tuple[tuple[float, float], ...] = tuple(
        (servers / SPREADS[0], speed) for servers, speed in table_5()
    )
    beside: tuple[float, float] = (
        _IMAGES_PER_S["IntraServer"] / _IMAGES_PER_S["SameServer"],
        _IMAGES_PER_S["InterServer"] / _IMAGES_PER_S["SameServer"],
    )
    interference: bool = True
    biggest_server: int = 8
    across: tuple[float, ...] = (1.0,)
    topology: Topology | None = field(default=None, repr=False, compare=False)

    def on(self, topology: Topology) -> Self:
        """Return the model for machines of a topology."""
        return replace(self, topology=topology)

    def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
        """Return the speed by the number of servers, and by gangs on the same servers."""
        if allocation.gpus == 1:
            return 1.0
        servers = len(allocation.shares)
        fewest = -(-allocation.gpus // self.biggest_server)
        if fewest == 1:
            alone = [speed for n, speed in self.spread if n <= servers][-1]
        else:
            alone = [speed for n, speed in self.spread_large if n <= max(servers / fewest, 1)][-1]
        if self.topology is not None and servers > 1:
            beyond = self.topology.level(machine for machine, _ in allocation.shares) - RACK
            alone *= (1.0, *self.across)[min(beyond, len(self.across))]
        if self.interference and any(other.allocated.gpus > 1 for other in neighbours):
            return min(alone, self.beside[servers > fewest])
        return alone


@dataclass(frozen=True)
class Spread(Locality):
    """Slower when spread over servers, but not by neighbours: locality without interference.

    The difference from ``locality`` is the greatest possible gain of keeping gangs apart.
    """

    neighbourly: ClassVar[bool] = False

    interference: bool = False


def _with_unknown(spec: JobSpec, **drawn: Any) -> JobSpec:
    """Return a job with values for those of its fields that are unknown."""
    return replace(spec, **{k: v for k, v in drawn.items() if getattr(spec, k) is None})


@dataclass(frozen=True)
class HostResources(Speed):
    """By the CPUs and the memory of each GPU, from per-model profiles.

    Attributes
    ----------
    profiles
        Profile by job type; other types run as recorded.
    split
        (task, share) of the jobs without a job type: each gets a model of the task, drawn
        uniformly. Synergy's default; an assumption. Jobs without a request for CPUs and memory
        request those of their model.
    """

    profiles: dict[str, Profile] = field(default_factory=lambda: PROFILES)
    split: tuple[tuple[str, float], ...] = (("image", 0.2), ("language", 0.7), ("speech", 0.1))

    def complete(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with a model, and the CPUs and memory that it wants."""
        models = {
            task: [p for p in self.profiles.values() if p.task == task] for task, _ in self.split
        }
        shares = np.array([share for _, share in self.split])
        tasks = rng.choice(len(shares), len(specs), p=shares / shares.sum())
        picks = rng.random(len(specs))
        done = []
        for spec, task, pick in zip(specs, tasks.tolist(), picks.tolist(), strict=True):
            among = models[self.split[task][0]]
            model = spec.job_type or among[int(pick * len(among))].job_type
            profile, gpus = self.profiles.get(model), spec.gpus * spec.gpu_frac
            if profile is not None:
                spec = _with_unknown(
                    replace(spec, job_type=model),
                    cpus=profile.cpus * gpus,
                    mem_gb=profile.mem_gb * gpus,
                )
            done.append(spec)
        return done

    def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
        """Return the throughput on the allocation, relative to a proportional share.

        Jobs on a fraction of a GPU run as recorded, since the profiles are of whole GPUs.
        """
        profile = self.profiles.get(job.spec.job_type or "")
        if profile is None or not allocation.cpus or allocation.units < GPU_UNITS:
            return 1.0
        return profile.throughput(allocation.cpus, allocation.mem_gb)


@dataclass(frozen=True)
class Parallelism(Speed):
    """By the number of GPUs, relative to the number requested, as measured for the job's model.

    Attributes
    ----------
    alpha
        Exponent for models without measurements: (GPUs allocated / GPUs requested) to this power;
        1 is perfect scaling. An assumption.
    models
        Models of the jobs without a job type: drawn uniformly from those that would request so
        many GPUs; none: such jobs follow the power law.
    """

    alpha: float = 0.9
    models: tuple[str, ...] = tuple(SCALING)

    def complete(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with a model."""
        if not self.models:
            return specs
        picks = rng.random(len(specs)).tolist()
        done = []
        for spec, pick in zip(specs, picks, strict=True):
            tuned = [m for m in well_tuned(spec.gpus) if m in self.models] or self.models
            model = spec.job_type or tuned[int(pick * len(tuned))]
            done.append(replace(spec, job_type=model))
        return done

    def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
        """Return the speed on the allocated GPUs, relative to those requested."""
        scaling = SCALING.get(job.spec.job_type or "")
        if scaling is None:
            return float((allocation.gpus / job.gpus) ** self.alpha)
        return scaling.speed(allocation.gpus, job.gpus)


def _tenths() -> tuple[float, ...]:
    read = curve("gpu_util", "Pass 1").set_index("cdf_pct")["value"].to_dict()
    return (0.0, *(round(read[pct] / 100, 2) for pct in range(10, 100, 10)), 1.0)


PHILLY_MINUTES = _tenths()
"""Per-minute utilisation of allocated GPUs of passed 1-GPU jobs, at each tenth of the samples: the
Philly archive's notebook, Figure 5. As the distribution of jobs' means it is too wide: a job's mean
varies less than its minutes."""


@dataclass(frozen=True)
class Sharing(Speed):
    """Holders of a GPU run at full speed; a guest gets the compute that the holder leaves.

    A guest that uses the share u of a GPU whose holder uses h runs at min(u, 1 - h) / u. It makes
    no progress while the memory of both does not fit (AntMan would let it continue from host
    memory, more slowly). A gang runs at the speed of its slowest GPU.

    Attributes
    ----------
    util_quantiles
        Mean utilisation, at evenly spaced quantiles from 0 to 1, of jobs without samples.
    gpu_mem
        Parameters of the Beta distribution of the share of GPU memory that a job uses, where
        unknown. Assumed.
    interference
        Share of its speed that a holder loses to a guest. AntMan reports none.
    together
        Whether a guest makes progress beside a holder; if not, guests use idle GPUs only.
    """

    neighbourly: ClassVar[bool] = True
    by_use: ClassVar[bool] = True

    util_quantiles: tuple[float, ...] = PHILLY_MINUTES
    gpu_mem: tuple[float, float] = (2.0, 2.5)
    interference: float = 0.0
    together: bool = True

    def complete(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with utilisation and GPU memory drawn where unknown."""
        grid = np.linspace(0, 1, len(self.util_quantiles))
        util = np.interp(rng.random(len(specs)), grid, self.util_quantiles).clip(0.01, 1.0)
        mem = rng.beta(*self.gpu_mem, len(specs))
        return [
            _with_unknown(spec, util_frac=u, gpu_mem_frac=m)
            for spec, u, m in zip(specs, util.tolist(), mem.tolist(), strict=True)
        ]

    def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
        """Return 1 for a holder, and for a guest what the busiest of its GPUs leaves."""
        if not allocation.guest and not self.interference:
            return 1.0
        beside = [other for other in neighbours if _overlap(allocation, other.allocated)]
        if beside and not self.together:
            return 0.0 if allocation.guest else 1.0
        if not allocation.guest:
            return 1.0 - self.interference if beside else 1.0
        speed = 1.0
        for holder in beside:
            if job.gpu_mem_frac + holder.gpu_mem_frac > 1:
                return 0.0
            left = max(0.0, 1 - holder.util_frac)
            speed = min(speed, left / job.util_frac if job.util_frac > left else 1.0)
        return speed


def _overlap(one: Allocation, other: Allocation) -> bool:
    theirs = dict(other.shares)
    return any(gpus & theirs.get(machine, 0) for machine, gpus in one.shares)


SPEEDS: dict[str, type[Speed]] = {
    "recorded": Speed,
    "locality": Locality,
    "spread": Spread,
    "resources": HostResources,
    "parallelism": Parallelism,
    "sharing": Sharing,
}
"""Every speed model by its name on the command line."""


def speed_named(name: str) -> Speed:
    """Return a speed model with its published parameters.

    Raises
    ------
    UnknownNameError
        There is no such model.
    """
    if name not in SPEEDS:
        raise UnknownNameError("speed", name, SPEEDS)
    return SPEEDS[name]()
