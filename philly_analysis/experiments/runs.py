"""What a sweep is to run: each what-if with all that decides what comes out of it."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import product
from pathlib import Path

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.experiments.outage_rates import recorded_outages
from philly_analysis.models import load_model, shipped
from philly_analysis.parallel import require_visible
from philly_analysis.simulator import Failures, simulate
from philly_analysis.simulator.policies import list_policies, policy_named
from philly_analysis.study import RunPolicy
from philly_analysis.trace import MANIFEST, Manifest, Trace, fetch_trace
from philly_analysis.workload import Workload, measures

DRAWN_JOBS = 2_000
"""Jobs drawn from a model, unless another number is asked for."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What all runs of a sweep have in common, under the names that ``simulate`` has for it."""

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

    def read(self) -> str:
        """Return what files it names hold, as far as outcomes depend on that."""
        path = Path(self.outages) if isinstance(self.outages, str | Path) else None
        return hashlib.sha256(path.read_bytes()).hexdigest() if path and path.is_file() else ""


@dataclass(frozen=True, slots=True)
class Run:
    """One what-if of a sweep: all that decides what comes out of it.

    Attributes
    ----------
    workload
        Folder of a trace; or a model's file or the name of one that ships, of which `seed` draws
        `jobs` jobs.
    load
        Offered load that submissions are stretched to; None: as they are.
    seed
        Of the jobs drawn, and of all that the what-if draws.
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
        """Return a digest of all that decides the outcome, the trace's or model's content too."""
        path = Path(self.workload)
        if (path / MANIFEST).is_file():
            said = Manifest.read(path).to_json()
        else:
            said = path.read_text("utf-8") if path.is_file() else self.workload
        text = json.dumps(
            [asdict(self), said, self.assumed.read(), _code()], sort_keys=True, default=str
        )
        return hashlib.sha256(text.encode()).hexdigest()[:20]


ALONE = Assumed()
"""Nothing is assumed but what a what-if assumes by itself."""


def plan_runs(
    workloads: Sequence[str | Path],
    policy_names: Sequence[str],
    *,
    loads: Sequence[float] = (),
    seeds: int = 1,
    knobs: Sequence[tuple[str, str]] = (),
    jobs: int = DRAWN_JOBS,
    assumed: Assumed = ALONE,
) -> list[Run]:
    """Return every run of a sweep, those of one workload, load and seed one after the other.

    Parameters
    ----------
    policy_names
        The first is what the others are held against.
    knobs
        (knob, value); a knob may come with several values, and counts for the policies that have
        it, or for one as ``policy.knob``.

    Raises
    ------
    UnknownNameError
        There is no such model, policy or knob.
    SimulationError
        There is nothing to run, a value is not one of its knob, or seeds are asked of a recorded
        trace, which is one workload.
    """
    if not workloads or not policy_names or seeds < 1:
        raise SimulationError("a sweep takes a workload, a policy and a seed at least.")
    if isinstance(assumed.outages, str | Path) and (file := Path(assumed.outages)).is_file():
        assumed = replace(assumed, outages=file.resolve())  # workers may stand elsewhere
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
    for workload in (str(fetch_trace(one)) for one in workloads):
        recorded = (Path(workload) / MANIFEST).is_file()
        if recorded and seeds > 1:
            raise SimulationError(
                f"{workload} was recorded once, so {seeds} seeds of it would be the same jobs. "
                "Sweep a model of it (`philly fit`) for intervals."
            )
        if not recorded:
            load_model(workload)
        common = assumed
        if assumed.outages == "recorded":
            common = replace(assumed, outages=recorded_outages(workload))
        found += [
            Run(
                workload=workload if workload in shipped() else str(Path(workload).resolve()),
                policy=name,
                knobs=chosen,
                load=load,
                seed=seed,
                jobs=jobs,
                assumed=common,
            )
            for load in loads or (None,)
            for seed in range(seeds)
            for name, chosen in arms
        ]
    return found


def outcome_of(run: Run) -> dict[str, float]:
    """Do one run, and measure it.

    Raises
    ------
    InputError
        What it reads cannot be seen from here.
    """
    if isinstance(run.assumed.outages, Path):
        require_visible([run.assumed.outages])
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as scratch:
        made = simulate(
            _workload(run),
            run.policy,
            Path(scratch) / "trace",
            knobs=dict(run.knobs),
            load=run.load,
            seed=run.seed,
            **{field.name: getattr(run.assumed, field.name) for field in fields(run.assumed)},
        )
        with Trace(made) as trace:
            return measures(trace)


def _workload(run: Run) -> Workload:
    if run.workload not in shipped():
        require_visible([run.workload])
    if (Path(run.workload) / MANIFEST).is_file():
        return Workload.from_trace(run.workload)
    return load_model(run.workload).sample(jobs=run.jobs, gpus=run.assumed.gpus, seed=run.seed)


@cache
def _code() -> str:
    """Return a digest of the package, so that no outcome of another version is taken for one."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".sql", ".json")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
