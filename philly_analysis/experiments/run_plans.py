"""Plan the runs of a sweep: workloads, policies with their knobs, loads and seeds."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby, product
from pathlib import Path
from typing import Any, cast

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.experiments.outage_rates import recorded_outages
from philly_analysis.experiments.runs import Jobs, Run, RunOptions
from philly_analysis.models import Work, model_of
from philly_analysis.simulator import policy_named
from philly_analysis.simulator.policies import Policy, list_policies, require_policy
from philly_analysis.trace import Frames, Manifest, Trace, fetch_trace
from philly_analysis.workload import (
    Changes,
    Ensemble,
    Machine,
    Workload,
    default_servers,
    demand_of,
    machines_of,
    seeds_of,
    target_cluster,
)

DRAWN_JOBS = 2_000
"""Default number of jobs drawn from a model."""

DEFAULTS = RunOptions()
"""The defaults of ``simulate``."""


def plan_runs(
    works: Sequence[Work | Sequence[Workload]],
    policies: Sequence[str | Policy],
    *,
    cluster: int | str | Sequence[Machine] | None = None,
    knobs: Mapping[str, object] | None = None,
    loads: float | Sequence[float] = (),
    seeds: int | Iterable[int] | None = None,
    jobs: int | None = None,
    days: float | None = None,
    warmup: float = 0.0,
    changes: Changes | None = None,
    options: RunOptions = DEFAULTS,
) -> list[Run]:
    """Return every run of a sweep; runs of one workload, load and seed are consecutive.

    Parameters
    ----------
    policies
        Names of policies, or policies. The first is the baseline.
    cluster
        Target cluster of all workloads. Models are drawn for it.
    knobs
        Values by knob. ``knob`` applies to all policies with the knob, ``policy.knob`` to one
        policy. Each value of a list is simulated; a tuple is one value.
    loads
        Offered loads, or one.
    seeds
        Seeds of the draws from models, or their number; by default 0. An ensemble has seeds
        already.
    jobs, days
        Number of jobs drawn from a model, and length in days; without both 2,000 jobs.
    warmup
        Share of the time of submissions that is not measured, from the first submission on.
    changes
        Changes of the jobs of all workloads, in place of the changes that a workload has.
    options
        Options of all runs, without the cluster.

    Raises
    ------
    UnknownNameError
        A model, policy or knob is unknown.
    SimulationError
        There is nothing to run, two policies have one name, a knob does not accept a value, a
        recorded trace or an ensemble is given seeds, or no work is a model and jobs or days are
        given.
    WorkloadError
        The seeds are not different integers.
    """
    if not 0 <= warmup < 1:
        raise SimulationError(f"a warm-up is a share of 0 or more and below 1, not {warmup:g}.")
    if not works or not policies:
        raise SimulationError("a sweep needs at least one workload and one policy.")
    draws = seeds_of(1 if seeds is None else seeds)
    levels = (loads,) if isinstance(loads, int | float) else tuple(loads)
    size = {"jobs": DRAWN_JOBS if jobs is None and days is None else jobs, "days": days}
    if isinstance(options.outages, str | Path) and (file := Path(options.outages)).is_file():
        # workers may have another working directory
        options = replace(options, outages=file.resolve())
    machines = None if cluster is None else machines_of(cluster)
    arms = _arms(policies, knobs or {})
    runs: list[Run] = []
    names: list[str] = []
    chosen = _by_month(works)
    if (jobs or days) and not any(_is_model(work) for work in chosen):
        raise SimulationError("jobs and days draw from a model; the workloads have their own jobs.")
    for work in chosen:
        source, target = _jobs(work, draws, size, machines)
        if changes is not None:
            source = source.changed(changes)
        names.append(source.name)
        if (times := names.count(source.name)) > 1:
            source = replace(source, name=f"{source.name} ({times})")
        if not source.seeds and len(draws) > 1:
            raise SimulationError(
                f"{source.name} is a recorded trace: {len(draws)} seeds would give the same jobs. "
                "For intervals, sweep a model fitted to it."
            )
        if isinstance(work, Ensemble | list) and seeds is not None:
            raise SimulationError(f"the months of {source.name} have their own seeds: omit seeds.")
        here = replace(options, cluster=target)
        if options.outages == "recorded":
            here = replace(here, outages=recorded_outages(_recorded(source)))
        runs += [
            Run(source, policy, settings, load, seed, here, warmup)
            for load in levels or (None,)
            for seed in source.seeds or draws
            for policy, settings in arms
        ]
    name, times = Counter(run.arm for run in runs[: len(arms)]).most_common(1)[0]
    if times > 1:
        raise SimulationError(
            f"{times} policies are called {name}: give policies of different names or knobs."
        )
    return runs


def _recorded(jobs: Jobs) -> Path:
    """Return the trace that outages are recorded in."""
    if jobs.trace is None:
        raise SimulationError(f"{jobs.name} is no trace: it records no outages. Give rates.")
    return jobs.trace


def _arms(
    policies: Sequence[str | Policy], knobs: Mapping[str, object]
) -> list[tuple[str | Policy, tuple[tuple[str, Any], ...]]]:
    """Return each policy with each combination of the values of the policy's knobs."""
    for policy in policies:
        require_policy(policy)
    of_policy = {
        policy: set(list_policies(policy)["knob"])
        if isinstance(policy, str)
        else {f.name for f in fields(policy)}
        for policy in policies
    }
    values: dict[str | Policy, dict[str, list[object]]] = {policy: {} for policy in policies}
    for name, value in knobs.items():
        owner, _, knob = name.rpartition(".")
        having = [
            policy
            for policy in policies
            if knob in of_policy[policy]
            and owner in ("", policy if isinstance(policy, str) else policy.name)
        ]
        if not having:
            raise UnknownNameError("knob", name, sorted(set().union(*of_policy.values())))
        for policy in having:
            values[policy][knob] = list(value) if isinstance(value, list) else [value]
    arms = [
        (policy, tuple(zip(values[policy], chosen, strict=True)))
        for policy in policies
        for chosen in product(*values[policy].values())
    ]
    for policy, settings in arms:
        policy_named(policy, dict(settings))
    return arms


def _is_model(work: Work | list[Workload]) -> bool:
    """Return whether jobs are drawn from a work."""
    return not isinstance(work, list | Ensemble) and model_of(work) is not None


def _by_month(
    works: Sequence[Work | Sequence[Workload]],
) -> list[Work | list[Workload]]:
    """Return the works; consecutive workloads of one name are the months of one work."""
    grouped: list[Work | list[Workload]] = []
    for is_month, some in groupby(works, lambda w: w.name if isinstance(w, Workload) else None):
        several = list(some)
        if is_month is not None and len(several) > 1:
            grouped.append(cast("list[Workload]", several))
        else:
            grouped += [list(w) if isinstance(w, list | tuple) else w for w in several]  # type: ignore[misc]
    return grouped


def _months(months: Sequence[Workload], machines: tuple[Machine, ...] | None) -> Jobs:
    """Return the jobs of a list of months, by the seeds that the months were drawn with."""
    seeds = [getattr(month.redraw, "seed", None) for month in months]
    if None in seeds or len(set(seeds)) < len(seeds):
        seeds = list(range(len(months)))
    jobs = [_jobs(month, (), {}, machines)[0] for month in months]
    return Jobs(months[0].name, months=tuple(zip(cast("list[int]", seeds), jobs, strict=True)))


def _jobs(
    work: Work | list[Workload],
    seeds: Sequence[int],
    size: Mapping[str, Any],
    machines: tuple[Machine, ...] | None,
) -> tuple[Jobs, tuple[Machine, ...] | None]:
    """Return the jobs of a work, and the cluster to run them on; None: the work's own.

    Jobs in memory are written to a trace, so that workers can read them.
    """
    if isinstance(work, list):
        return _months(work, machines), machines
    if isinstance(work, Ensemble):
        return Jobs(work.name, ensemble=work), machines
    model = model_of(work)
    if model is not None:
        if machines is None:
            some = model.sample(**size)
            assert isinstance(some, Workload)  # noqa: S101 - one seed gives one workload
            target = target_cluster(some, demand_of(some))
            machines = default_servers(target.gpus) if target.assumed else None
        gpus = None if machines is None else sum(m.gpus for m in machines)
        drawn = model.sample(**size, gpus=gpus, seeds=seeds)
        assert isinstance(drawn, Ensemble)  # noqa: S101 - several seeds give an ensemble
        name = Path(work).stem if isinstance(work, str | Path) else model.name
        return Jobs(name, ensemble=drawn), machines
    if isinstance(work, str | Path):
        folder = fetch_trace(work).resolve()
        Manifest.read(folder)  # raises an error unless the folder is a trace
        return Jobs(folder.name, trace=folder), machines
    if isinstance(work, Workload):
        folder = Path(tempfile.mkdtemp(dir=scratch_folder())) / "trace"
        replace(work, changes=Changes()).to_trace(folder)
        jobs_of = Jobs(work.name, None, folder.resolve(), work.changes, work.redraw)
        return jobs_of, machines
    if isinstance(work, Trace):
        return Jobs(work.path.name, trace=work.path), machines
    trace = Trace(cast("Frames", work))
    return Jobs(trace.manifest.name, trace=trace.path), machines
