"""Divide machines, jobs and quotas into pools, which are simulated separately."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from philly_analysis.errors import SimulationError
from philly_analysis.results import count
from philly_analysis.simulator.cluster.allocation import Cluster
from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.request import Request, request_of
from philly_analysis.workload import JobSpec, Machine, Workload, machine_rows, use_by_vc


@dataclass(frozen=True)
class Pool:
    """Machines that serve the same jobs, and the jobs assigned to them."""

    name: str
    machines: tuple[Machine, ...]
    jobs: tuple[JobSpec, ...]

    @cached_property
    def gpus(self) -> int:
        """GPUs of the pool."""
        return sum(m.gpus for m in self.machines)


def assign_to_pools(
    workload: Workload,
    specs: Sequence[JobSpec],
    machines: Sequence[Machine],
    *,
    one: bool = False,
) -> tuple[list[Pool], list[JobSpec]]:
    """Assign jobs to pools, by the relations ``pools``, ``pool_machines`` and ``job_pools``.

    Jobs are assigned in the order of submission. Of several eligible pools a job goes to the one
    with the fewest assigned GPU-seconds per GPU, the job's included. GPUs of two models, or with
    different slices, are never in one pool, even if no job names a model.

    Parameters
    ----------
    specs
        The jobs of the workload to run.
    machines
        The machines to run them on: the workload's own, or others.
    one
        Whether all machines are one pool, of which a policy chooses.

    Returns
    -------
    tuple
        Pools with jobs, sorted by name; and the jobs without an eligible pool that is large
        enough and has the requested servers. If all machines are one pool, gangs that are too large
        for the pool stay in the pool.

    Raises
    ------
    SimulationError
        No job has a pool that is large enough.
    """
    if one or not machines or not specs:
        return [Pool("", tuple(machines), tuple(specs))], []
    there = replace(workload, machines=machine_rows(machines))
    relations = there.answers(["machine_pools", "pool_machines", "job_pools"])
    of_machine = _separated(
        dict(relations["machine_pools"].select("machine_id", "pool").iter_rows()), machines
    )
    pools = {
        name: Pool(name, tuple(m for m in machines if of_machine[m.machine_id] == name), ())
        for name in sorted(set(of_machine.values()))
    }
    serving: dict[str, dict[str, Pool]] = {}
    for wanted, machine_id in relations["pool_machines"].select("pool", "machine_id").iter_rows():
        serving.setdefault(wanted, {})[of_machine[machine_id]] = pools[of_machine[machine_id]]
    requests = dict(relations["job_pools"].select("job_id", "pool").iter_rows())
    assigned: dict[str, list[JobSpec]] = {name: [] for name in pools}
    load_s = dict.fromkeys(pools, 0.0)
    empty = {name: Cluster(pool.machines) for name, pool in pools.items()}

    @cache
    def has_servers(pool: str, request: Request) -> bool:
        return not request.servers or allocate(empty[pool], request) is not None

    excluded: list[JobSpec] = []
    for spec in sorted(specs, key=lambda s: (s.submit_s, s.job_id)):
        eligible = serving.get(requests[spec.job_id], {}).values()
        request = request_of(spec)
        fitting = [
            p
            for p in eligible
            if (p.gpus >= spec.gpus or len(pools) == 1) and has_servers(p.name, request)
        ]
        if not fitting:
            excluded.append(spec)
            continue
        best = min(fitting, key=lambda p: (load_s[p.name] + spec.gpu_s / p.gpus, p.name))
        assigned[best.name].append(spec)
        load_s[best.name] += spec.gpu_s / best.gpus
    used = [
        replace(pool, jobs=tuple(assigned[name])) for name, pool in pools.items() if assigned[name]
    ]
    if excluded and not used:
        raise SimulationError(
            f"None of {len(excluded):,} jobs fits in an eligible pool of machines, e.g. "
            f"{excluded[0].job_id} for {excluded[0].gpus:,} GPUs. Give machines of the cluster, "
            "pool or GPU model that the jobs request, or machines without these."
        )
    return used, excluded


def _separated(of_machine: dict[str, str], machines: Sequence[Machine]) -> dict[str, str]:
    """Return the pool of each machine, divided by GPU model and slices.

    A gang runs on GPUs of one model, and a run time on one model does not apply to another.
    """
    models, slices = defaultdict[str, set[str | None]](set), defaultdict[str, set[int | None]](set)
    for m in machines:
        models[of_machine[m.machine_id]].add(m.gpu_model)
        slices[of_machine[m.machine_id]].add(m.slices)
    names = {}
    for m in machines:
        pool = name = of_machine[m.machine_id]
        if len(models[pool] - {None}) > 1:
            name += f", {m.gpu_model or 'other'} GPUs"
        if len(slices[pool]) > 1:
            name += f", GPUs in {m.slices} slices" if m.slices else ", GPUs not in slices"
        names[m.machine_id] = name
    return names


def divide_quotas(quotas: Mapping[str, int], pools: Sequence[Pool]) -> list[dict[str, int]]:
    """Divide quotas among pools by the GPU-seconds that each virtual cluster requests there.

    In each pool a quota is at least the virtual cluster's largest gang there. A virtual cluster
    with all jobs in one pool keeps its quota.
    """
    uses = [use_by_vc(pool.jobs) for pool in pools]
    parts = [dict(quotas) for _ in pools]
    for vc, gpus in quotas.items():
        if sum(vc in largest for _, largest in uses) > 1:
            total_s = sum(gpu_s.get(vc, 0.0) for gpu_s, _ in uses)
            for part, (gpu_s, largest) in zip(parts, uses, strict=True):
                share = gpu_s.get(vc, 0.0) / total_s if total_s else 1 / len(pools)
                part[vc] = max(round(gpus * share), largest.get(vc, 0))
    return parts


def pool_notes(pools: Sequence[Pool], excluded: Sequence[JobSpec]) -> tuple[str, ...]:
    """Return sentences on the pools, and on the jobs excluded from all of them."""
    notes = []
    if len(pools) > 1:
        sizes = "; ".join(f"{p.name}: {count(len(p.jobs), 'job')}, {p.gpus:,} GPUs" for p in pools)
        notes += [
            f"The {len(pools)} pools of machines have separate queues: {sizes}.",
            "A job that several pools may serve was assigned to the least loaded one. The quota of "
            "a virtual cluster with jobs in several pools was divided by their GPU time.",
        ]
    if excluded:
        gpu_h = sum(s.gpu_s for s in excluded) / 3600
        notes.append(
            f"{count(len(excluded), 'job')} excluded ({gpu_h:,.0f} GPU hours): no eligible pool "
            "has the GPUs, or the servers with their CPUs and memory, that the gang requests."
        )
    return tuple(notes)
