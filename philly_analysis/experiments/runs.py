"""Runs of a sweep: each what-if, a digest of its inputs, and its outcome."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import cast

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.experiments.outage_rates import recorded_outages
from philly_analysis.models import Work, load_model, model_of, shipped
from philly_analysis.parallel import require_visible
from philly_analysis.simulator import Failures, simulate
from philly_analysis.simulator.policies import list_policies, policy_named
from philly_analysis.study import RunPolicy
from philly_analysis.trace import MANIFEST, Frames, Trace, fetch_trace
from philly_analysis.workload import Ensemble, Workload, demand_of, measures, target_cluster

DRAWN_JOBS = 2_000
"""Default number of jobs drawn from a model."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """Options that all runs of a sweep share, named as in ``simulate``."""

    gpus: int | None = None
    machines: str | None = None
    run_policy: RunPolicy | None = None
    speed: str | None = None
    checkpoint_s: float = 0.0
    outages: Failures | str | Path | None = None
    dedicated: bool = False
    prerun_servers: int = 0
    prerun_s: float = 600.0
    retry_by_reason: bool = False
    estimates: str = "exact"


@dataclass(frozen=True, slots=True)
class Run:
    """One what-if of a sweep, with all its inputs.

    Attributes
    ----------
    workload
        Folder of a trace; or the file or name of a model, from which `seed` draws `jobs` jobs.
    load
        Offered load that submissions are rescaled to; None: they stay.
    seed
        Of the jobs drawn, and of all draws of the what-if.
    """

    workload: str
    policy: str
    knobs: tuple[tuple[str, str], ...]
    load: float | None
    seed: int
    jobs: int
    assumed: Assumed

    @property
    def arm(self) -> str:
        """The policy with the knobs that were set."""
        knobs = ", ".join(f"{knob}={value}" for knob, value in self.knobs)
        return f"{self.policy} ({knobs})" if knobs else self.policy

    @property
    def setting(self) -> str:
        """The workload's name."""
        return Path(self.workload).stem

    def key(self) -> str:
        """Return a digest of all inputs: options, the trace or model, and the package's code."""
        path, outages = Path(self.workload), self.assumed.outages
        files = [path / MANIFEST, path]
        if isinstance(outages, str | Path):
            files.append(Path(outages))
        content = [hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.is_file()]
        text = json.dumps([asdict(self), content, _code()], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


DEFAULTS = Assumed()
"""The defaults of ``simulate``."""


def plan_runs(
    works: Sequence[Work],
    policy_names: Sequence[str],
    *,
    loads: Sequence[float] = (),
    seeds: int | Sequence[int] = 1,
    knobs: Sequence[tuple[str, str]] = (),
    jobs: int = DRAWN_JOBS,
    assumed: Assumed = DEFAULTS,
) -> list[Run]:
    """Return every run of a sweep; those of one workload, load and seed are consecutive.

    Parameters
    ----------
    policy_names
        The first is the baseline.
    knobs
        (knob, value); a knob may have several values, and applies to all policies that have it, or
        to one as ``policy.knob``.

    Raises
    ------
    UnknownNameError
        There is no such model, policy or knob.
    SimulationError
        There is nothing to run, a knob does not accept a value, or a recorded trace, which is one
        workload, has several seeds.
    """
    draws = range(seeds) if isinstance(seeds, int) else seeds
    if not works or not policy_names or not draws:
        raise SimulationError("a sweep needs at least one workload, one policy and one seed.")
    if isinstance(assumed.outages, str | Path) and (file := Path(assumed.outages)).is_file():
        # workers may have another working directory
        assumed = replace(assumed, outages=file.resolve())
    values: dict[str, dict[str, list[str]]] = {name: {} for name in policy_names}
    for knob, value in knobs:
        policy, _, own = knob.rpartition(".")
        of = [p for p in ([policy] if policy else values) if own in set(list_policies(p)["knob"])]
        if not of:
            raise UnknownNameError(
                "knob", knob, sorted({k for p in values for k in list_policies(p)["knob"]})
            )
        for name in of:
            values.setdefault(name, {}).setdefault(own, []).append(value)
    arms = [
        (name, tuple(zip(values[name], chosen, strict=True)))
        for name in policy_names
        for chosen in product(*values[name].values())
    ]
    for name, chosen in arms:
        policy_named(name, dict(chosen))
    found: list[Run] = []
    for workload in map(_stored, works):
        recorded = (Path(workload) / MANIFEST).is_file()
        if recorded and len(draws) > 1:
            raise SimulationError(
                f"{workload} is a recorded trace: {len(draws)} seeds would give the "
                "same jobs. For intervals, sweep a model fitted to it."
            )
        common = assumed
        if not recorded and assumed.gpus is None and assumed.machines is None:
            some = load_model(workload).sample(jobs)
            cluster = target_cluster(some, demand_of(some))
            common = replace(common, gpus=cluster.gpus if cluster.assumed else None)
        if assumed.outages == "recorded":
            common = replace(common, outages=recorded_outages(workload))
        found += [
            Run(workload, name, chosen, load, seed, jobs, common)
            for load in loads or (None,)
            for seed in draws
            for name, chosen in arms
        ]
    return found


def _stored(work: Work) -> str:
    """Return the folder of a trace, or the file or name of a model; write those in memory."""
    if isinstance(work, Ensemble):
        raise SimulationError(
            f"a sweep draws its own months: give the model {work.name!r} of the ensemble, and "
            f"seeds={len(work)}."
        )
    model = model_of(work)
    if isinstance(work, str | Path):
        named = model is not None and str(work) in shipped()
        return str(work) if named else str(fetch_trace(work).resolve())
    if model is not None:
        return str(model.save(scratch_folder() / f"{model.name}.json").resolve())
    if isinstance(work, Workload):
        return str(work.to_trace(scratch_folder() / work.name).resolve())
    return str((work if isinstance(work, Trace) else Trace(cast("Frames", work))).path)


def outcome_of(run: Run) -> dict[str, float]:
    """Simulate one run and return its measures.

    Raises
    ------
    InputError
        One of its files is not visible to this process.
    """
    if isinstance(run.assumed.outages, Path):
        require_visible([run.assumed.outages])
    if run.workload not in shipped():
        require_visible([run.workload])
    workload: Workload | str = run.workload
    if not (Path(run.workload) / MANIFEST).is_file():
        workload = load_model(run.workload).sample(run.jobs, gpus=run.assumed.gpus, seed=run.seed)
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as scratch:
        made = simulate(
            workload,
            run.policy,
            Path(scratch) / "trace",
            knobs=dict(run.knobs),
            load=run.load,
            seed=run.seed,
            **{field.name: getattr(run.assumed, field.name) for field in fields(run.assumed)},
        )
        with Trace(made) as trace:
            return measures(trace)


@cache
def _code() -> str:
    """Return a digest of the package's code, so that outcomes of other versions are not reused."""
    package = Path(__file__).parents[1]
    kinds = (".py", ".sql", ".json", ".toml")
    files = sorted(path for path in package.rglob("*") if path.suffix in kinds)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
