"""Compute the speed of a job on its allocation, relative to the recorded run."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from philly_analysis.errors import UnknownNameError
from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.topology import RACK, Topology
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.speed.profiles import PROFILES, Profile
from philly_analysis.simulator.speed.scaling import SCALING, well_tuned
from philly_analysis.simulator.speed.sharing import Sharing
from philly_analysis.simulator.speed.speed import Speed, with_unknown
from philly_analysis.study import SPREADS, table_4, table_5
from philly_analysis.workload import JobSpec

_IMAGES_PER_S = table_4()


@dataclass(frozen=True)
class Locality(Speed):
    """Slower when spread over servers, and beside other gangs: the study's Tables 4 and 5.

    A gang has full speed on the fewest servers, alone. A gang beside another has the speed of Table
    4 or the speed of its spread, whichever is lower: spread is never faster than packed, nor shared
    faster than alone. Single GPUs are never slowed, and slow no other job, because the tables have
    no data on single GPUs.

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
        Speed of a gang over several racks, over several pods, …, relative to one rack. The last
        speed holds for all wider spreads. The study measured no speed across racks: 1 unless set.
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
        request the CPUs and memory of their model.
    """

    profiles: dict[str, Profile] = field(default_factory=lambda: PROFILES)
    split: tuple[tuple[str, float], ...] = (("image", 0.2), ("language", 0.7), ("speech", 0.1))

    def complete(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with a model, and the CPUs and memory that the model wants."""
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
                spec = with_unknown(
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
        Models of the jobs without a job type, drawn uniformly from the models that would request as
        many GPUs. Without models, jobs without a job type follow the power law.
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
        """Return the speed on the allocated GPUs, relative to the requested GPUs."""
        scaling = SCALING.get(job.spec.job_type or "")
        if scaling is None:
            return float((allocation.gpus / job.gpus) ** self.alpha)
        return scaling.speed(allocation.gpus, job.gpus)


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
    """Return a speed model with published parameters.

    Raises
    ------
    UnknownNameError
        The model is unknown.
    """
    if name not in SPEEDS:
        raise UnknownNameError("speed", name, SPEEDS)
    return SPEEDS[name]()
