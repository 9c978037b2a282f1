"""Identify a what-if of a sweep by a digest of its inputs, and simulate it."""

import hashlib
import inspect
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from philly_analysis.atomic import scratch_folder
from philly_analysis.models import WorkloadModel
from philly_analysis.parallel import require_visible
from philly_analysis.simulator import Failures, Outage, Speed, policy_named, simulate
from philly_analysis.simulator.policies import Policy
from philly_analysis.trace import MANIFEST, Manifest, Trace, code_version
from philly_analysis.workload import (
    Changes,
    Ensemble,
    Machine,
    Redraw,
    Workload,
    measures,
)


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
        """Name of the policy, with the knobs that are set."""
        knobs = dict(self.knobs)
        name = _name_of(self.policy)
        if not isinstance(self.policy, str):
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
            code_version() or uuid4().hex,  # edited code has no version
        ]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:20]


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


@cache
def _name_of(policy: str | Policy) -> str:
    """Return the name of a policy; one of a file has the name that its class declares."""
    return (
        policy
        if isinstance(policy, str) and ".py:" not in policy
        else policy_named(policy, {}).name
    )


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
