"""Pools run apart: each job on machines that may serve it, no machine in two pools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from philly_analysis.results import count
from philly_analysis.simulator.engine.schedule import Schedule
from philly_analysis.workload import JobSpec, Machine, Workload, machine_rows


@dataclass(frozen=True, slots=True)
class Pool:
    """Machines that serve the same jobs, and the jobs that are to run there."""

    name: str
    machines: tuple[Machine, ...]
    jobs: tuple[JobSpec, ...]

    @property
    def gpus(self) -> int:
        """Its GPUs."""
        return sum(m.gpus for m in self.machines)


def pools_of(
    workload: Workload, specs: Sequence[JobSpec], machines: Sequence[Machine]
) -> tuple[list[Pool], list[JobSpec]]:
    """Deal jobs to the pools that may serve them, by the relations ``pools`` to ``machine_pools``.

    A job that several pools may serve, such as one that names none, goes to that of them which,
    with it, has the fewest GPU-seconds asked of it per GPU; jobs are dealt as they are submitted.
    GPUs of two models, or cut into other slices, are never in one pool, even where no job names a
    model.

    Parameters
    ----------
    specs
        The jobs of the workload that are to run.
    machines
        Where they are to run: the workload's own, or others.

    Returns
    -------
    tuple
        Pools with their jobs, by name, those without jobs left out; and the jobs that no pool may
        serve, or none that is large enough. Where all machines are one pool, a gang that is too
        large stays with it.
    """
    if not machines or not specs:
        return [Pool("", tuple(machines), tuple(specs))], []
    there = replace(workload, machines=machine_rows(machines))
    of_machine = _apart(
        dict(there.answer("machine_pools").select("machine_id", "pool").iter_rows()), machines
    )
    members: dict[str, list[Machine]] = {}
    for machine in machines:
        members.setdefault(of_machine[machine.machine_id], []).append(machine)
    pools = {name: Pool(name, tuple(own), ()) for name, own in sorted(members.items())}
    serving: dict[str, dict[str, Pool]] = {}
    for asked, machine_id in there.answer("pool_machines").select("pool", "machine_id").iter_rows():
        serving.setdefault(asked, {})[of_machine[machine_id]] = pools[of_machine[machine_id]]
    asks = dict(there.answer("job_pools").select("job_id", "pool").iter_rows())
    dealt: dict[str, list[JobSpec]] = {name: [] for name in pools}
    load_s = dict.fromkeys(pools, 0.0)
    left_out: list[JobSpec] = []
    for spec in sorted(specs, key=lambda s: (s.submit_s, s.job_id)):
        ours = serving.get(asks[spec.job_id], {}).values()
        fitting = [p for p in ours if p.gpus >= spec.gpus or len(pools) == 1]
        if not fitting:
            left_out.append(spec)
            continue
        best = min(fitting, key=lambda p: (load_s[p.name] + spec.gpu_s / p.gpus, p.name))
        dealt[best.name].append(spec)
        load_s[best.name] += spec.gpu_s / best.gpus
    busy = [replace(pool, jobs=tuple(dealt[name])) for name, pool in pools.items() if dealt[name]]
    return busy, left_out


def _apart(of_machine: dict[str, str], machines: Sequence[Machine]) -> dict[str, str]:
    """Return the pool of each machine, none of which has GPUs of two models, or cut in two ways.

    A gang runs on GPUs of one model, and how long it took on them says nothing of another.
    """
    models: dict[str, set[str]] = {}
    cuts: dict[str, set[int | None]] = {}
    for machine in machines:
        pool = of_machine[machine.machine_id]
        cuts.setdefault(pool, set()).add(machine.slices)
        if machine.gpu_model is not None:
            models.setdefault(pool, set()).add(machine.gpu_model)
    apart = {}
    for m in machines:
        pool = name = of_machine[m.machine_id]
        if len(models.get(pool, ())) > 1:
            name += f", {m.gpu_model or 'other'} GPUs"
        if len(cuts[pool]) > 1:
            name += f", GPUs in {m.slices} slices" if m.slices else ", GPUs not in slices"
        apart[m.machine_id] = name
    return apart


def divided(quotas: Mapping[str, int], pools: Sequence[Pool]) -> list[dict[str, int]]:
    """Divide quotas among pools by the GPU-seconds that a virtual cluster's jobs ask for in each.

    In each pool a quota holds the virtual cluster's largest gang there. One whose jobs are all in
    one pool keeps its quota.
    """
    asked_gpu_s: dict[str, list[float]] = {}
    largest: dict[str, list[int]] = {}
    for i, pool in enumerate(pools):
        for spec in pool.jobs:
            asked_gpu_s.setdefault(spec.vc, [0.0] * len(pools))[i] += spec.gpu_s
            gangs = largest.setdefault(spec.vc, [0] * len(pools))
            gangs[i] = max(gangs[i], spec.gpus)
    parts: list[dict[str, int]] = [{} for _ in pools]
    for vc, gpus in quotas.items():
        gangs = largest.get(vc, [])
        if sum(map(bool, gangs)) < 2:
            for part in parts:
                part[vc] = gpus
            continue
        total_s = sum(asked_gpu_s[vc])
        for part, own_s, gang in zip(parts, asked_gpu_s[vc], gangs, strict=True):
            share = own_s / total_s if total_s else 1 / len(pools)
            part[vc] = max(round(gpus * share), gang)
    return parts


def joined(schedules: Sequence[Schedule]) -> Schedule:
    """Return what happened in several pools as one schedule, in the order of submission."""
    if len(schedules) == 1:
        return schedules[0]
    jobs = pl.concat([s.jobs for s in schedules]).sort("submit_s", "job_id")
    nth = jobs.select("job_id").with_row_index("nth")

    def of_all(frames: Iterable[pl.DataFrame], *then: str) -> pl.DataFrame:
        ordered = pl.concat(frames).join(nth, on="job_id", maintain_order="left")
        return ordered.sort("nth", *then, maintain_order=True).drop("nth")

    return Schedule(
        jobs=jobs,
        attempts=of_all((s.attempts for s in schedules), "attempt"),
        placements=of_all((s.placements for s in schedules), "attempt"),
        speeds=of_all((s.speeds for s in schedules), "start_s"),
        holds=of_all((s.holds for s in schedules), "start_s"),
        waits=of_all((s.waits for s in schedules), "since_s"),
        outages=pl.concat([s.outages for s in schedules]).sort("start_s", maintain_order=True),
        events=sum(s.events for s in schedules),
    )


def says(pools: Sequence[Pool], left_out: Sequence[JobSpec]) -> tuple[str, ...]:
    """Say that pools ran apart, and which jobs ran in none."""
    said = []
    if len(pools) > 1:
        each = "; ".join(f"{p.name}: {count(len(p.jobs), 'job')}, {p.gpus:,} GPUs" for p in pools)
        said += [
            f"Each of {len(pools)} pools of machines has a queue of its own: {each}.",
            "A job that several pools may serve was dealt to the least loaded; the quota of a "
            "virtual cluster with jobs in several was divided by their GPU time.",
        ]
    if left_out:
        gpu_h = sum(s.gpu_s for s in left_out) / 3600
        said.append(
            f"{count(len(left_out), 'job')} left out ({gpu_h:,.0f} GPU hours): no pool that may "
            "serve them is as large as their gang."
        )
    return tuple(said)
