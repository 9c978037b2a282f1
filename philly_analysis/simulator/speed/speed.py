"""How fast a job runs on what it holds, relative to the run that was recorded."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from philly_analysis.errors import UnknownNameError
from philly_analysis.simulator.cluster.cluster import Grant
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.topology import RACK, Topology
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.speed.profiles import PROFILES, Profile
from philly_analysis.simulator.speed.scaling import SCALING, well_tuned
from philly_analysis.study import SPREADS, curve, table_4, table_5
from philly_analysis.workload import JobSpec


@dataclass(frozen=True)
class Speed:
    """As recorded, wherever and beside whomever they run.

    Other speeds subclass this and say what they take into account.
    """

    neighbourly: ClassVar[bool] = False
    """Whether jobs on the same machines matter."""

    by_place: ClassVar[bool] = False
    """Whether what it takes into account slowed the recorded run, too, by where that ran."""

    by_use: ClassVar[bool] = False
    """Whether it looks at how much of their GPUs jobs use."""

    @property
    def says(self) -> str:
        """What it takes into account, in a sentence."""
        return (type(self).__doc__ or "").partition("\n")[0]

    def completed(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with what it must know of them and they do not say, drawn.

        What a job says stays as it is.
        """
        return specs

    def on(self, topology: Topology) -> Self:
        """Return the law for machines that stand so; each simulation asks once."""
        return self

    def of(self, job: Job, grant: Grant, neighbours: Sequence[Job]) -> float:
        """Return the seconds of its recorded run that a job gets done in one second.

        Parameters
        ----------
        grant
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

    Full speed is that on the fewest servers, alone. A gang beside another is as slow as Table 4
    has it, or as its spread makes it, whichever is slower: so spread is never better than packed,
    nor in company better than alone. Single GPUs are never slowed, and slow nobody: the tables say
    nothing about them.

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
        Speed of a gang over several racks, over several pods, ..., relative to one rack; the last
        holds for all beyond. The study measured none: 1 unless it is set.
    topology
        Which machines share racks and pods; set by the simulation.
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
        """Return the law for machines that stand so."""
        return replace(self, topology=topology)

    def of(self, job: Job, grant: Grant, neighbours: Sequence[Job]) -> float:
        """Return the speed by the number of servers, and by whether gangs share a server."""
        if grant.gpus == 1:
            return 1.0
        servers = len(grant.shares)
        fewest = -(-grant.gpus // self.biggest_server)
        if fewest == 1:
            alone = [speed for n, speed in self.spread if n <= servers][-1]
        else:
            alone = [speed for n, speed in self.spread_large if n <= max(servers / fewest, 1)][-1]
        if self.topology is not None and servers > 1:
            beyond = self.topology.level(machine for machine, _ in grant.shares) - RACK
            alone *= (1.0, *self.across)[min(beyond, len(self.across))]
        if self.interference and any(other.held.gpus > 1 for other in neighbours):
            return min(alone, self.beside[servers > fewest])
        return alone


@dataclass(frozen=True)
class Spread(Locality):
    """Slower when spread over servers, but not by who runs beside them: what if none interfered.

    What is gained over ``locality`` is the most that keeping gangs apart could give.
    """

    neighbourly: ClassVar[bool] = False

    interference: bool = False


@dataclass(frozen=True)
class HostResources(Speed):
    """By the CPUs and the memory that each GPU gets, from per-model profiles.

    Attributes
    ----------
    profiles
        Profile by job type; other types run as recorded.
    split
        (task, share) of the jobs that do not say their type: each gets a model of the task,
        drawn evenly. Synergy's default; an assumption. Jobs that do not say what CPUs and memory
        they ask for want those of their model.
    """

    profiles: dict[str, Profile] = field(default_factory=lambda: PROFILES)
    split: tuple[tuple[str, float], ...] = (("image", 0.2), ("language", 0.7), ("speech", 0.1))

    def completed(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
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
            wants, gpus = self.profiles.get(model), spec.gpus * spec.gpu_frac
            if wants is None:
                done.append(spec)
                continue
            done.append(
                replace(
                    spec,
                    job_type=model,
                    cpus=wants.cpus * gpus if spec.cpus is None else spec.cpus,
                    mem_gb=wants.mem_gb * gpus if spec.mem_gb is None else spec.mem_gb,
                )
            )
        return done

    def of(self, job: Job, grant: Grant, neighbours: Sequence[Job]) -> float:
        """Return the throughput on the grant, relative to a proportional share.

        On a share of a GPU jobs run as recorded: the profiles are of whole ones.
        """
        profile = self.profiles.get(job.spec.job_type or "")
        if profile is None or not grant.cpus or grant.part < WHOLE:
            return 1.0
        return profile.throughput(grant.cpus, grant.mem_gb)


@dataclass(frozen=True)
class Parallelism(Speed):
    """By the number of GPUs, relative to the number asked for, as measured of the job's model.

    Attributes
    ----------
    alpha
        Exponent for models of which nothing was measured: (GPUs held / GPUs asked for) to this
        power; 1 is perfect scaling. An assumption.
    models
        What jobs train that do not say: drawn evenly from these, of those that would ask for so
        many GPUs; none: such jobs follow the power law.
    """

    alpha: float = 0.9
    models: tuple[str, ...] = tuple(SCALING)

    def completed(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
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

    def of(self, job: Job, grant: Grant, neighbours: Sequence[Job]) -> float:
        """Return the speed on the GPUs held, relative to that on those asked for."""
        scaling = SCALING.get(job.spec.job_type or "")
        if scaling is None:
            return float((grant.gpus / job.gpus) ** self.alpha)
        return scaling.speed(grant.gpus, job.gpus)


def _tenths() -> tuple[float, ...]:
    read = curve("gpu_util", "Pass 1").set_index("cdf_pct")["value"].to_dict()
    return (0.0, *(round(read[pct] / 100, 2) for pct in range(10, 100, 10)), 1.0)


PHILLY_MINUTES = _tenths()
"""Per-minute utilisation of GPUs in use by passed 1-GPU jobs, at each tenth of the readings: the
Philly archive's notebook, Figure 5. Taken as the means of jobs it spreads them too far: a job's
mean varies less than its minutes."""


@dataclass(frozen=True)
class Sharing(Speed):
    """Holders of a GPU run undisturbed; a guest gets the compute that the holder leaves.

    A guest that wants the share u of a GPU whose holder uses h runs at min(u, 1 - h) / u. It
    stands still while the memory of both does not fit (AntMan would let it go on from host
    memory, more slowly). A gang runs as fast as its slowest GPU.

    Attributes
    ----------
    util_quantiles
        Mean utilisation, at evenly spaced quantiles from 0 to 1, of jobs without readings.
    gpu_mem
        Parameters of the Beta law of the share of GPU memory that a job uses, where it is not
        known. Assumed.
    interference
        Share of its speed that a holder loses to a guest. AntMan reports none.
    together
        Whether a guest goes on beside a holder; if not, it stands still until the holder has left:
        guests then take idle GPUs only, and nothing is shared.
    """

    neighbourly: ClassVar[bool] = True
    by_use: ClassVar[bool] = True

    util_quantiles: tuple[float, ...] = PHILLY_MINUTES
    gpu_mem: tuple[float, float] = (2.0, 2.5)
    interference: float = 0.0
    together: bool = True

    def completed(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with utilisation and GPU memory drawn where they are not known."""
        grid = np.linspace(0, 1, len(self.util_quantiles))
        util = np.interp(rng.random(len(specs)), grid, self.util_quantiles).clip(0.01, 1.0)
        mem = rng.beta(*self.gpu_mem, len(specs))
        return [
            replace(
                spec,
                util_frac=u if spec.util_frac is None else spec.util_frac,
                gpu_mem_frac=m if spec.gpu_mem_frac is None else spec.gpu_mem_frac,
            )
            for spec, u, m in zip(specs, util.tolist(), mem.tolist(), strict=True)
        ]

    def of(self, job: Job, grant: Grant, neighbours: Sequence[Job]) -> float:
        """Return 1 for a holder, and for a guest what the busiest of its GPUs leaves it."""
        if not grant.guest and not self.interference:
            return 1.0
        beside = [other for other in neighbours if _overlap(grant, other.held)]
        if beside and not self.together:
            return 0.0 if grant.guest else 1.0
        if not grant.guest:
            return 1.0 - self.interference if beside else 1.0
        speed = 1.0
        for holder in beside:
            if job.gpu_mem_frac + holder.gpu_mem_frac > 1:
                return 0.0
            left = max(0.0, 1 - holder.util_frac)
            speed = min(speed, left / job.util_frac if job.util_frac > left else 1.0)
        return speed


def _overlap(one: Grant, other: Grant) -> bool:
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
"""Every law of speed by the name that the user types."""


def speed_named(name: str) -> Speed:
    """Return a law of speed as its source has it.

    Raises
    ------
    UnknownNameError
        There is no such law.
    """
    if name not in SPEEDS:
        raise UnknownNameError("speed", name, SPEEDS)
    return SPEEDS[name]()
