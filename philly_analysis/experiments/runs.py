"""Runs of a sweep: plan, identify and simulate each what-if."""

import hashlib
import inspect
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.experiments.outage_rates import recorded_outages
from philly_analysis.models import Work, WorkloadModel, model_of
from philly_analysis.parallel import require_visible
from philly_analysis.simulator import Failures, Outage, Speed, policy_named, simulate
from philly_analysis.simulator.policies import Policy, list_policies
from philly_analysis.trace import MANIFEST, Frames, Manifest, Trace, fetch_trace
from philly_analysis.workload import (
    Changes,
    Ensemble,
    Machine,
    Redraw,
    Workload,
    default_servers,
    demand_of,
    machines_of,
    measures,
    target_cluster,
)

DRAWN_JOBS = 2_000
"""Default number of jobs drawn from a model."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options that all runs on one workload share, named as in ``simulate``."""

    cluster: tuple[Machine, ...] | None = None
    speed: str | Speed | None = None
    outages: Failures | Sequence[Outage] | str | Path | None = None
    checkpoint_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Jobs:
    """The workload of a run: an ensemble, from which a seed draws, or a trace on disk.

    Attributes
    ----------
    name
        Name of the workload in tables.
    ensemble
        Ensemble to draw from; None: the jobs come from `trace`.
    trace
        Folder of a trace.
    changes
        Changes of the trace's jobs.
    redraw
        Draws the trace's jobs at an offered load; None: the jobs are recorded.
    months
        Workloads by seed, if a list of months has the jobs.
    """

    name: str
    ensemble: Ensemble | None = None
    trace: Path | None = None
    changes: Changes = field(default_factory=Changes)
    redraw: Redraw | None = None
    months: tuple[tuple[int, "Jobs"], ...] = ()

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the months; empty for a recorded trace."""
        if self.months:
            return tuple(seed for seed, _ in self.months)
        return () if self.ensemble is None else self.ensemble.seeds

    @property
    def synthetic(self) -> bool:
        """Whether the jobs are drawn, or recorded by no real cluster."""
        if self.trace is not None:
            return Manifest.read(self.trace).synthetic
        return self.ensemble is not None or any(month.synthetic for _, month in self.months)

    def workload(self, seed: int) -> Workload:
        """Return the jobs of a seed.

        Raises
        ------
        InputError
            The trace is not visible to this process.
        """
        if self.months:
            return dict(self.months)[seed].workload(seed)
        if self.ensemble is not None:
            return self.ensemble.of_seed(seed)
        assert self.trace is not None  # noqa: S101 - one of them is set
        require_visible([self.trace])
        read = Workload.from_trace(self.trace)
        if self.redraw is not None:
            read = read.redrawn_by(self.redraw)
        return read.with_changes(self.changes)

    def changed(self, changes: Changes) -> "Jobs":
        """Return the workload with these changes."""
        if self.months:
            return replace(self, months=tuple((s, m.changed(changes)) for s, m in self.months))
        if self.ensemble is None:
            return replace(self, changes=changes)
        return replace(self, ensemble=replace(self.ensemble, changes=changes))

    def identity(self) -> list[object]:
        """Return what determines the jobs, for a digest."""
        if self.months:
            return [[seed, *month.identity()] for seed, month in self.months]
        if self.ensemble is not None:
            model = cast("WorkloadModel", self.ensemble.model)
            return [
                model.to_json(),
                repr(self.ensemble.options),
                repr(self.ensemble.load),
                repr(self.ensemble.changes),
            ]
        assert self.trace is not None  # noqa: S101 - one of them is set
        return [_content(self.trace / MANIFEST), repr(self.changes), repr(self.redraw)]


@dataclass(frozen=True, slots=True)
class Run:
    """One what-if of a sweep, with all inputs.

    Attributes
    ----------
    jobs
        The workload.
    policy
        Name of a policy, or a policy.
    knobs
        Knobs that are set, and their values.
    load
        Offered load, at which the jobs are drawn; None: submissions stay.
    seed
        Seed of the drawn jobs, and of all draws of the what-if.
    options
        What the what-if assumes.
    warmup
        Share of the time of submissions that is not measured, from the first submission on.
    """

    jobs: Jobs
    policy: str | Policy
    knobs: tuple[tuple[str, Any], ...]
    load: float | None
    seed: int
    options: RunOptions
    warmup: float = 0.0

    @property
    def arm(self) -> str:
        """The policy with the knobs that are set."""
        knobs = dict(self.knobs)
        if isinstance(self.policy, str):
            name = self.policy
        else:
            name = self.policy.name
            of_object = {f.name: getattr(self.policy, f.name) for f in fields(self.policy)}
            defaults = {f.name: f.default for f in fields(self.policy)}
            knobs = {k: v for k, v in of_object.items() if v != defaults[k]} | knobs
        settings = ", ".join(f"{knob}={value}" for knob, value in knobs.items())
        return f"{name} ({settings})" if settings else name

    def key(self) -> str:
        """Return a digest of all inputs: options, jobs, the policy and the package's code."""
        outages = self.options.outages
        inputs = [
            self.jobs.name,
            *self.jobs.identity(),
            repr(self.policy),
            _source(self.policy),
            repr(self.knobs),
            self.load,
            self.seed,
            self.warmup,
            repr(asdict(self.options)),
            _content(Path(outages)) if isinstance(outages, str | Path) else "",
            _code(),
        ]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:20]


DEFAULTS = RunOptions()
"""The defaults of ``simulate``."""


def plan_runs(
    works: Sequence[Work | Sequence[Workload]],
    policies: Sequence[str | Policy],
    *,
    cluster: int | str | Sequence[Machine] | None = None,
    knobs: Mapping[str, object] | None = None,
    loads: Sequence[float] = (),
    seeds: Iterable[int] | None = None,
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
    seeds
        Seeds of the draws from models; by default 0. An ensemble has seeds already.
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
        There is nothing to run, a knob does not accept a value, or a recorded trace or an
        ensemble is given seeds.
    """
    draws = (0,) if seeds is None else tuple(seeds)
    if not 0 <= warmup < 1:
        raise SimulationError(f"a warm-up is a share of 0 or more and below 1, not {warmup:g}.")
    size = {"jobs": DRAWN_JOBS if jobs is None and days is None else jobs, "days": days}
    if not works or not policies or not draws:
        raise SimulationError("a sweep needs at least one workload, one policy and one seed.")
    if isinstance(options.outages, str | Path) and (file := Path(options.outages)).is_file():
        # workers may have another working directory
        options = replace(options, outages=file.resolve())
    machines = None if cluster is None else machines_of(cluster)
    arms = _arms(policies, knobs or {})
    runs: list[Run] = []
    names: list[str] = []
    for work in _by_month(works):
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
            for load in loads or (None,)
            for seed in source.seeds or draws
            for policy, settings in arms
        ]
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


def outcome_of(run: Run) -> dict[str, Any]:
    """Simulate one run and return its measures, and the completion times of the jobs.

    Raises
    ------
    InputError
        A file of the run is not visible to this process.
    """
    if isinstance(run.options.outages, Path):
        require_visible([run.options.outages])
    workload = run.jobs.workload(run.seed)
    if run.load is not None:
        workload = workload.with_load(run.load, run.options.cluster, seed=run.seed)
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as scratch:
        folder = simulate(
            workload,
            policy_named(run.policy, dict(run.knobs)),
            Path(scratch) / "trace",
            cluster=run.options.cluster,
            speed=run.options.speed,
            outages=run.options.outages,
            checkpoint_s=run.options.checkpoint_s,
            seed=run.seed,
        )
        with Trace(folder) as trace:
            ended = trace.answer("completions").df().sort_values("job_id")
            measured = measures(trace, ended, warmup=run.warmup)
    columns = ("job_id", "gpus", "jct_s")
    return {"measures": measured, "jobs": {name: ended[name].tolist() for name in columns}}


def _content(file: Path) -> str:
    """Return a digest of a file; empty without a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _source(policy: str | Policy) -> str:
    """Return the source of a user's policy: outcomes of another version are not reused."""
    if isinstance(policy, str):
        return _content(Path(policy.rpartition(":")[0])) if ".py:" in policy else ""
    try:
        return inspect.getsource(type(policy))
    except (OSError, TypeError):  # typed at a prompt: no outcome is reused
        return uuid4().hex


@cache
def _code() -> str:
    """Return a digest of the package's code, so that outcomes of other versions are not reused."""
    package = Path(__file__).parents[1]
    kinds = (".py", ".sql", ".json", ".toml")
    files = sorted(path for path in package.rglob("*") if path.suffix in kinds)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
