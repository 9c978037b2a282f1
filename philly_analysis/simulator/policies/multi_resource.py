"""Schedulers of data clusters, to whom a job is a fixed demand of GPUs, CPUs and memory."""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.cluster.capacity import fit, may_fit
from philly_analysis.simulator.cluster.cluster import Cluster, Grant, lowest
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import seat
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Order
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.synergy import wants, within_reach
from philly_analysis.simulator.policies.view import Plan, View, Wish
from philly_analysis.simulator.speed.speed import HostResources, Speed

_SAME = 9
"""Decimals to which shares that are equal agree."""

_SHAPES = 256
"""Shapes of which scores are kept."""


class _Shape(NamedTuple):
    """What a job asks for: parts of GPUs, and CPUs and memory (GB) for each GPU, or its share."""

    size: int
    cpus: float
    mem_gb: float


class _Vector(NamedTuple):
    """GPUs, CPUs and memory (GB): held, or all that there are."""

    gpus: float
    cpus: float
    mem_gb: float

    def plus(self, more: "_Vector", sign: int = 1) -> "_Vector":
        """Return both together, or (sign -1) the one without the other."""
        return _Vector(
            self.gpus + sign * more.gpus,
            self.cpus + sign * more.cpus,
            self.mem_gb + sign * more.mem_gb,
        )

    def of(self, all_: "_Vector") -> tuple[float, float, float]:
        """Return what share it is of each."""
        return self.gpus / all_.gpus, self.cpus / all_.cpus, self.mem_gb / all_.mem_gb


_NOTHING = _Vector(0.0, 0.0, 0.0)


class _Owned(NamedTuple):
    """Jobs of one owner and shape."""

    owner: str
    shape: _Shape


_Kinds = dict[_Shape, dict[_Owned, Order]]


@dataclass(frozen=True)
class Drf(Policy):
    """Dominant-resource fairness: whoever holds least of what they hold most of is next.

    A job gets the CPUs and memory that it wants with its GPUs, or it waits, as Synergy has it run
    for comparison; one that wants more than empty servers have, or does not say, takes a
    proportional share. The dominant share of a user, or virtual cluster, is the greatest of its
    shares of the cluster's GPUs, CPUs and memory; the next job is the first that fits of the owner
    whose is least. Nobody is stopped.
    """

    name = "drf"
    SOURCE = "Ghodsi et al., DRF, NSDI'11, algorithm 1; as a baseline in Synergy (OSDI'22)"
    parts = True
    kind = "shape"

    of: str = knob("user", "between whom resources are divided", among=("user", "vc"))

    def group(self, job: Job, now_s: float) -> _Owned:
        """Return owner and demand."""
        return _Owned(self._owner(job), _Shape(job.size, *wants(job)))

    def speed(self) -> Speed:
        """Return speeds by CPUs and memory."""
        return HostResources()

    def decide(self, view: View) -> Wish:
        """Give what is free to the owners of least dominant shares."""
        holders: dict[Job, _Vector] = view.kept.setdefault("holders", {})
        used: dict[str, _Vector] = view.kept.setdefault("used", {})
        news = view.running.news()
        changed = list(holders) if news is None else [place.job for place, _ in news]
        for job in changed:
            if not job.running and job in holders:
                owner = self._owner(job)
                used[owner] = used[owner].plus(holders.pop(job), -1)
        no_room = _without_room(view)
        if view.cluster.full or not view.queue.groups:
            return {}
        lines = {
            group: order.places()
            for shape, groups in cast("_Kinds", view.queue.kinds).items()
            if shape not in no_room and view.cluster.fits(shape.size)
            for group, order in groups.items()
        }
        if not lines:
            return {}
        plan, capacity = view.plan(), _capacity(view)
        heads = {group: next(line) for group, line in lines.items()}
        owned: dict[str, list[_Owned]] = {}
        for group in heads:
            owned.setdefault(group.owner, []).append(group)
            used.setdefault(group.owner, _NOTHING)
        least = [(_share(used[owner], capacity), owner) for owner in owned]
        heapify(least)
        while least:
            share, owner = heappop(least)
            groups = [g for g in owned[owner] if g in heads and g.shape not in no_room]
            if not groups:
                continue
            group = min(groups, key=heads.__getitem__)
            job = heads[group].job
            demand = _Shape(job.size, *within_reach(view, job))
            grant = fit(plan.cluster, *demand)
            if plan.grant(job, grant):
                holders[job] = _vector(grant)
                used[owner] = used[owner].plus(holders[job])
                heads.pop(group)
                if (behind := next(lines[group], None)) is not None:
                    heads[group] = behind
                elif len(groups) == 1:
                    continue
                share = _share(used[owner], capacity)
            else:
                no_room[group.shape] = demand
            heappush(least, (share, owner))
        return plan.wish

    def _owner(self, job: Job) -> str:
        return job.spec.user if self.of == "user" else job.vc


def _without_room(view: View) -> dict[_Shape, _Shape]:
    """Return the shapes that found no room and will not now, beside what they are to be given.

    Where nobody is stopped there is more room only on servers that were left since.
    """
    known: dict[_Shape, _Shape] = view.kept.setdefault("no room", {})
    if known and view.freed:
        cluster = view.cluster
        most = max(cluster.free_gpus[machine].bit_count() for machine in view.freed)
        for shape, demand in list(known.items()):
            fits = most * WHOLE >= shape.size or not WHOLE <= shape.size <= cluster.biggest * WHOLE
            if fits and may_fit(cluster, view.freed, *demand):
                del known[shape]
    return known


def _vector(grant: Grant | None) -> _Vector:
    """Return the GPUs, CPUs and memory of a grant."""
    if grant is None:
        return _NOTHING
    gpus = grant.gpus
    return _Vector(grant.part / WHOLE * gpus, grant.cpus * gpus, grant.mem_gb * gpus)


def _capacity(view: View) -> _Vector:
    """Return the GPUs, CPUs and memory of all servers; infinite where one does not say."""
    capacity: _Vector | None = view.kept.get("capacity")
    if capacity is None:
        machines = view.cluster.machines
        cpus = sum(inf if m.cpus is None else m.cpus for m in machines)
        mem_gb = sum(inf if m.mem_gb is None else m.mem_gb for m in machines)
        gpus = sum(m.gpus for m in machines)
        capacity = view.kept["capacity"] = _Vector(gpus, cpus or inf, mem_gb or inf)
    return capacity


def _share(used: _Vector, capacity: _Vector) -> float:
    return round(max(used.of(capacity)), _SAME)


@dataclass(frozen=True)
class Tetris(Policy):
    """Packing by alignment: jobs go where what they demand is most like what is free.

    A job gets the CPUs and memory that it wants with its GPUs, or it waits, as under ``drf``. Of
    the jobs and servers that fit, the pair is next whose score is greatest: the alignment, the dot
    product of the demand and of what the server has free, both as shares of the server; minus
    ``shortest`` times the work that is left of the job, in units in which the mean job that fits
    has as much of it as the mean pair has alignment. Work is time times the sum of the demand's
    shares of the cluster. A gang on several servers has the alignments of its parts, added.
    Nobody is stopped. Not modelled: disk and network, and fairness, the share of jobs from whom
    the best is chosen.
    """

    name = "tetris"
    SOURCE = (
        "Grandl et al., Tetris, SIGCOMM'14, sections 3.2 and 3.3; baseline in Synergy (OSDI'22)"
    )
    parts = True

    shortest: float = knob(
        1.0, "weight of the work left beside alignment: m of the paper", within=Bounds(0, 1000)
    )

    def group(self, job: Job, now_s: float) -> _Shape:
        """Return the demand: of those alike in it the one that comes first by key is asked."""
        return _Shape(job.size, *wants(job))

    def key(self, job: Job, now_s: float) -> float:
        """Return the seconds that it still needs; where they do not count, when it came."""
        return job.remaining_s(now_s) if self.shortest else job.spec.submit_s

    def speed(self) -> Speed:
        """Return speeds by CPUs and memory."""
        return HostResources()

    def decide(self, view: View) -> Wish:
        """Start the best pair of job and server, again and again."""
        servers: _Servers | None = view.kept.get("servers")
        if servers is None:
            servers = view.kept["servers"] = _Servers(view.cluster)
        servers.changed |= view.touched
        no_room = _without_room(view)
        if view.cluster.full or not view.queue.groups:
            return {}
        lines = {
            shape: order.places()
            for shape, order in cast("dict[_Shape, Order]", view.queue.groups).items()
            if shape not in no_room and view.cluster.fits(shape.size)
        }
        if not lines:
            return {}
        plan, capacity = view.plan(), _capacity(view)
        heads = {shape: next(line).job for shape, line in lines.items()}
        while heads:
            servers.refresh()
            found = {}
            for shape, job in list(heads.items()):
                demand = _Shape(job.size, *within_reach(view, job))
                grant = servers.best(demand)
                if grant is None:  # nor will it once others have started
                    no_room[shape] = demand
                    del heads[shape]
                else:
                    found[shape] = grant
            if not found:
                break
            shape = self._next(plan, heads, found, servers, capacity)
            job, grant = heads.pop(shape), found[shape]
            plan.grant(job, grant)
            servers.changed.update(machine for machine, _ in grant.shares)
            if (behind := next(lines[shape], None)) is not None:
                heads[shape] = behind.job
        return plan.wish

    def _next(
        self,
        plan: Plan,
        heads: dict[_Shape, Job],
        found: dict[_Shape, Grant],
        servers: "_Servers",
        capacity: _Vector,
    ) -> _Shape:
        """Return the shape whose first job has the best score; of several, submitted first."""
        now_s = plan.view.now_s
        aligned = {shape: servers.aligned(grant) for shape, grant in found.items()}
        work = {
            shape: heads[shape].remaining_s(now_s) * sum(_vector(grant).of(capacity))
            for shape, grant in found.items()
        }
        total = sum(work.values())
        unit = self.shortest * sum(aligned.values()) / total if total else 0.0
        return min(
            found,
            key=lambda s: (-round(aligned[s] - unit * work[s], _SAME), heads[s].index),
        )


class _Scores(NamedTuple):
    """How a shape is aligned with each server, minus infinity where it does not fit."""

    aligned: npt.NDArray[np.float64]
    stale: set[int]


class _Servers:
    """What servers have, and have free, as arrays kept from decision to decision.

    So is what each shape scores on them, of which only changed servers are worked out anew.

    Attributes
    ----------
    changed
        Servers to be looked at anew.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        machines = cluster.machines
        self._of = np.array(
            [[m.gpus or inf, m.cpus or inf, m.mem_gb or inf] for m in machines], np.float64
        )
        self._free = np.zeros_like(self._of)
        self._fits = np.zeros((len(machines), 2))
        self._scores: dict[_Shape, _Scores] = {}
        self.changed = set(range(len(machines)))

    def refresh(self) -> None:
        """Look at the servers on which something changed."""
        cluster = self._cluster
        for m in self.changed:
            whole, most, room = cluster.free_on(m)
            self._fits[m] = whole, most / WHOLE
            self._free[m] = (
                room / WHOLE,
                min(cluster.free_cpus[m], 1e300),
                min(cluster.free_mem_gb[m], 1e300),
            )
        for scores in self._scores.values() if self.changed else ():
            scores.stale.update(self.changed)
        self.changed.clear()

    def best(self, shape: _Shape) -> Grant | None:
        """Return where a gang fits with the greatest alignment; over several servers if large."""
        gpus = shape.size // WHOLE
        if gpus > self._cluster.biggest:
            return fit(self._cluster, *shape)
        aligned = self._aligned(shape)
        machine = int(aligned.argmax())
        if aligned[machine] == -inf:
            return None
        if not gpus:
            grant = seat(self._cluster, shape.size, among=1 << machine)
            return grant and grant._replace(cpus=shape.cpus, mem_gb=shape.mem_gb)
        share = (machine, lowest(self._cluster.free_gpus[machine], gpus))
        return Grant((share,), gpus, shape.cpus, shape.mem_gb)

    def _aligned(self, shape: _Shape) -> npt.NDArray[np.float64]:
        scores = self._scores.pop(shape, None)
        if scores is None:
            scores = _Scores(np.empty(len(self._of)), set(range(len(self._of))))
        self._scores[shape] = scores  # those that asked last stand last
        if len(self._scores) > _SHAPES:
            del self._scores[next(iter(self._scores))]
        if scores.stale:
            at = np.fromiter(scores.stale, np.intp)
            gpus = shape.size / WHOLE
            demand = np.array([gpus, *(max(gpus, 1) * np.array([shape.cpus, shape.mem_gb]))])
            of, free = self._of[at], self._free[at]
            aligned = ((demand / of) * (free / of)).sum(axis=1).round(_SAME)
            room = (free + 1e-6 >= demand).all(axis=1)
            room &= self._fits[at, int(gpus < 1)] + 1e-9 >= gpus
            scores.aligned[at] = np.where(room, aligned, -inf)
            scores.stale.clear()
        return scores.aligned

    def aligned(self, grant: Grant) -> float:
        """Return how a grant's demand is aligned with what its servers have free."""
        total = 0.0
        for machine, gpus in grant.shares:
            demand = gpus.bit_count() * np.array([grant.part / WHOLE, grant.cpus, grant.mem_gb])
            of, free = self._of[machine], self._free[machine]
            total += float(((demand / of) * (free / of)).sum())
        return total
