"""Where and when jobs of a workload may run: servers of partitions, reservations, limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import NamedTuple

import polars as pl

from philly_analysis.results import count
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.limit import Limit, recorded_limits
from philly_analysis.simulator.policies.slurm.never_ran import NeverRan, never_ran
from philly_analysis.simulator.policies.slurm.priority import Owner
from philly_analysis.simulator.policies.slurm.settings import Partition, Qos, Settings, Share
from philly_analysis.trace import Trace
from philly_analysis.workload import Machine, Workload, machine_rows

ALL = -1
"""A bit for every server."""


class Closure(NamedTuple):
    """Servers that some jobs may not use for a time, in seconds after the workload's origin."""

    start_s: float
    end_s: float
    servers: int
    accounts: frozenset[str]
    users: frozenset[str]
    known_s: float
    out: bool


@dataclass(frozen=True, slots=True)
class Site:
    """What a workload's cluster allows; sets of servers have a bit for each.

    Attributes
    ----------
    of_job
        Servers of the recorded pool of each job; a job without an entry may use all servers.
    of_partition
        Servers of each partition of the settings.
    of_model
        Servers of each GPU model.
    released_s
        Time at which a job's last reason outside the simulation ended, by job: a hold, a licence, a
        named server, a limit of an array or of one job.
    reserving
        Jobs that waited for a reservation by the log, and therefore asked for a reservation.
    whole_of
        Identifier of the heterogeneous job, by component; components start together.
    owners
        Accounts and users of the jobs.
    booted_s
        Time at which the controller started; None: not known.
    never_ran
        Jobs that waited and never ran. They are planned like others, and never start.
    """

    limits: tuple[Limit, ...] = ()
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    qos: Mapping[str, Qos] = field(default_factory=dict)
    shares: tuple[Share, ...] = ()
    closures: tuple[Closure, ...] = ()
    of_job: Mapping[str, int] = field(default_factory=dict)
    of_partition: Mapping[str, int] = field(default_factory=dict)
    of_model: Mapping[str, int] = field(default_factory=dict)
    released_s: Mapping[str, float] = field(default_factory=dict)
    reserving: frozenset[str] = frozenset()
    whole_of: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    booted_s: float | None = None
    never_ran: tuple[NeverRan, ...] = ()

    def notes(self) -> tuple[str, ...]:
        """Return sentences on what is recorded, and on what is not."""
        servers = (
            f"the servers of {count(len(self.of_partition), 'partition')} in the settings"
            if self.of_partition
            else "the servers of their recorded pool; the settings name no partitions"
        )
        held = count(len(self.released_s), "job")
        return (
            f"Limits of accounts, users, QOS and partitions: {len(self.limits):,}. Reservations "
            f"and drained servers: {len(self.closures):,}. Jobs may use {servers}.",
            f"{held} start after the last recorded reason that is not simulated: a hold, a "
            "licence, a named server, a limit of an array or of one job.",
            f"{count(len(self.never_ran), 'job')} never ran. They wait as recorded, and are "
            "planned by their time limits, until they were cancelled or the log ended.",
        )

    def partition(self, job: Job) -> int:
        """Return the servers of a job's partition, with the GPU model that the job names."""
        spec = job.spec
        if (servers := self.of_partition.get(spec.vc)) is not None:
            return servers & self.of_model.get(spec.gpu_model or "", ALL)
        return self.of_job.get(spec.job_id, ALL)

    def servers(self, job: Job, start_s: float, end_s: float, now_s: float) -> int:
        """Return the servers that a job may use in an interval, as far as is known now."""
        servers = self.partition(job)
        for closure in self.closures:
            if not closure.known_s <= now_s < closure.end_s:
                continue
            overlaps = closure.start_s < end_s and start_s < closure.end_s
            if (closure.out or overlaps) and not (
                job.spec.job_id in self.reserving
                and (job.spec.account in closure.accounts or job.spec.user in closure.users)
            ):
                servers &= ~closure.servers
        return servers

    def next_end_s(self, start_s: float, now_s: float) -> float:
        """Return when the next reservation that is known now ends."""
        ends = (c.end_s for c in self.closures if c.known_s <= now_s and c.end_s > start_s)
        return min(ends, default=FOREVER)

    def next_change_s(self, now_s: float) -> float:
        """Return when the next reservation begins or ends."""
        times = (t for c in self.closures for t in (c.start_s, c.end_s) if t > now_s)
        return min(times, default=FOREVER)

    def longest_s(self, job: Job) -> float | None:
        """Return the time limit of a job's partition; None: not known."""
        partition = self.partitions.get(job.vc)
        return partition.max_s if partition else None


def site_of(workload: Workload, machines: Sequence[Machine], settings: Settings) -> Site:
    """Return the site of a workload: the recorded cluster, and the settings of Slurm."""
    bit = {machine.machine_id: 1 << nth for nth, machine in enumerate(machines)}
    models: dict[str, int] = {}
    for machine in machines:
        if machine.gpu_model:
            models[machine.gpu_model] = models.get(machine.gpu_model, 0) | bit[machine.machine_id]
    origin_at = workload.origin_at
    closures = tuple(
        Closure(
            (r.start_at - origin_at).total_seconds(),
            (r.end_at - origin_at).total_seconds(),
            _mask(r.nodes, bit),
            r.accounts,
            r.users - {"root"},
            -FOREVER if r.known_at is None else (r.known_at - origin_at).total_seconds(),
            r.out,
        )
        for r in settings.reservations
        if origin_at is not None
    )
    masks: dict[frozenset[str], int] = {}
    of_job = {}
    for job_id, servers in _recorded_pools(workload, machines).items():
        if servers not in masks:
            masks[servers] = _mask(servers, bit)
        of_job[job_id] = masks[servers]
    limits, released_s, reserving = _recorded(workload)
    return Site(
        limits=limits or settings.limits,
        partitions=settings.partitions,
        qos=settings.qos,
        shares=settings.shares,
        closures=tuple(c for c in closures if c.end_s > 0),
        of_job=of_job,
        of_partition={
            name: mask
            for name, partition in settings.partitions.items()
            if (mask := _mask(partition.nodes, bit))
        },
        of_model=models,
        released_s=released_s,
        reserving=reserving,
        whole_of=_components(workload),
        booted_s=(settings.booted_at - origin_at).total_seconds()
        if settings.booted_at and origin_at
        else None,
        never_ran=never_ran(workload, released_s),
    )


def _mask(servers: frozenset[str], bit: Mapping[str, int]) -> int:
    return reduce(or_, (bit.get(server, 0) for server in servers), 0)


def _recorded_pools(workload: Workload, machines: Sequence[Machine]) -> dict[str, frozenset[str]]:
    """Return the servers of the recorded pool and GPU model of each job."""
    there = replace(workload, machines=machine_rows(machines))
    relations = there.answers(["pool_machines", "job_pools"])
    servers: dict[str, set[str]] = {}
    for pool, machine_id in relations["pool_machines"].select("pool", "machine_id").iter_rows():
        servers.setdefault(pool, set()).add(machine_id)
    sets = {pool: frozenset(names) for pool, names in servers.items()}
    jobs = relations["job_pools"].select("job_id", "pool").iter_rows()
    return {job_id: sets[pool] for job_id, pool in jobs if pool in sets}


def _components(workload: Workload) -> dict[str, str]:
    """Return the heterogeneous job of each component, whose identifier is ``JOB+NUMBER``."""
    jobs = workload.frames["jobs"].filter(pl.col("scheduler_id").str.contains(r"^[^+]+\+\d+$"))
    rows = jobs.select("job_id", pl.col("scheduler_id").str.extract(r"^([^+]+)\+")).iter_rows()
    return dict(rows)


def _recorded(
    workload: Workload,
) -> tuple[tuple[Limit, ...], dict[str, float], frozenset[str]]:
    """Return the limits of a workload's trace, and the facts that recorded reasons tell."""
    origin_at = workload.origin_at
    if workload.trace is None or origin_at is None:
        return (), {}, frozenset()
    with Trace(workload.trace) as trace:
        limits = recorded_limits(trace)
        stated = "queue_states" in trace.tables
        released = trace.sql(_RELEASED).fetchall() if stated else []
        reserving = trace.sql(_RESERVING).fetchall() if stated else []
    return (
        limits,
        {job_id: (at - origin_at).total_seconds() for job_id, at in released},
        frozenset(job_id for (job_id,) in reserving),
    )


_RESERVING = "select distinct job_id from queue_states where reason = 'Reservation'"

_RELEASED = """
select q.job_id, max(q.until_at)
from queue_states as q
inner join stated_reasons as r using (reason)
left join attempts as a on q.job_id = a.job_id and a.attempt = 1
where (a.started_at is null or q.since_at < a.started_at)
  and (
    r.cause = 'held' or r.kind in ('array', 'licence', 'request') or q.reason = 'ReqNodeNotAvail'
  )
group by q.job_id
"""
"""Slurm has ReqNodeNotAvail where a server that the job names is out of service or reserved."""
