"""Many what-ifs at once: workloads under policies, at loads, by seeds, compared in pairs."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.comparison import SCALARS, measures
from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.experiments.curves import below, heading, over_load
from philly_analysis.experiments.effects import ARM, effects, percent
from philly_analysis.figures import CYCLE, INK, MUTED, canvas, empty
from philly_analysis.inference import Paired
from philly_analysis.manifest import MANIFEST, Manifest
from philly_analysis.models.library import load_model, shipped
from philly_analysis.parallel import spread
from philly_analysis.prose import count
from philly_analysis.result import Fact, Result
from philly_analysis.simulator import simulate
from philly_analysis.simulator.policies import policies, policy_named
from philly_analysis.trace import Trace
from philly_analysis.workload import Workload

QUESTION = "What does each policy change, and how sure is that?"

MEASURES = tuple(name for name, _, _ in SCALARS)
"""What is measured of each run, as a comparison of traces measures it."""

_EFFECT = ("change_pct", "low_pct", "high_pct", "seeds")

FEWEST_SEEDS = 3
"""Seeds from which on there is an interval."""

DRAWN_JOBS = 2_000
"""Jobs drawn from a model, unless another number is asked for."""


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
    gpus: int | None
    machines: str | None
    speed: str | None

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
        text = json.dumps([asdict(self), said, _code()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def runs(
    workloads: Sequence[str | Path],
    policy_names: Sequence[str],
    *,
    loads: Sequence[float] = (),
    seeds: int = 1,
    knobs: Sequence[tuple[str, str]] = (),
    jobs: int = DRAWN_JOBS,
    gpus: int | None = None,
    machines: str | None = None,
    speed: str | None = None,
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
    values: dict[str, dict[str, list[str]]] = {name: {} for name in policy_names}
    for knob, value in knobs:
        policy, _, own = knob.rpartition(".")
        of = [p for p in ([policy] if policy else values) if own in set(policies(p)["knob"])]
        if not of:
            raise UnknownNameError(
                "knob", knob, sorted({k for p in values for k in policies(p)["knob"]})
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
    for workload in map(str, workloads):
        recorded = (Path(workload) / MANIFEST).is_file()
        if recorded and seeds > 1:
            raise SimulationError(
                f"{workload} was recorded once, so {seeds} seeds of it would be the same jobs. "
                "Sweep a model of it (`philly fit`) for intervals."
            )
        if not recorded:
            load_model(workload)
        found += [
            Run(
                workload=workload if workload in shipped() else str(Path(workload).resolve()),
                policy=name,
                knobs=chosen,
                load=load,
                seed=seed,
                jobs=jobs,
                gpus=gpus,
                machines=machines,
                speed=speed,
            )
            for load in loads or (None,)
            for seed in range(seeds)
            for name, chosen in arms
        ]
    return found


def sweep(planned: Sequence[Run], folder: str | Path, executor: Executor) -> Result:
    """Do the runs that `folder` has no outcome of yet, and compare the policies in pairs.

    Parameters
    ----------
    folder
        Where the outcome of each run is written as it ends, a file each: a sweep that was broken
        off goes on from there.
    executor
        Where runs are done; what comes out is the same wherever.

    Returns
    -------
    Result
        A row per run: setting (workload), load, arm (policy and knobs), seed, and the measures of
        :data:`~philly_analysis.comparison.SCALARS`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{run.key()}.json" for run in planned]
    due = [run for run, file in zip(planned, files, strict=True) if not file.is_file()]
    for run, outcome in zip(due, spread(executor, outcome_of, due, ahead=64), strict=True):
        _write(folder / f"{run.key()}.json", outcome)
    rows = [
        (
            run.setting,
            run.load,
            run.arm,
            run.seed,
            *map(json.loads(file.read_text("utf-8")).get, MEASURES),
        )
        for run, file in zip(planned, files, strict=True)
    ]
    return _result(pd.DataFrame(rows, columns=[*ARM, *MEASURES]))


def outcome_of(run: Run) -> dict[str, float]:
    """Do one run, and measure it."""
    with tempfile.TemporaryDirectory(prefix="philly-") as scratch:
        made = simulate(
            _workload(run),
            run.policy,
            Path(scratch) / "trace",
            knobs=dict(run.knobs),
            machines=run.machines,
            gpus=run.gpus,
            load=run.load,
            speed=run.speed,
            seed=run.seed,
        )
        with Trace(made) as trace:
            return measures(trace)


def _workload(run: Run) -> Workload:
    if (Path(run.workload) / MANIFEST).is_file():
        return Workload.from_trace(run.workload)
    return load_model(run.workload).sample(jobs=run.jobs, gpus=run.gpus, seed=run.seed)


@cache
def _code() -> str:
    """Return a digest of the package, so that no outcome of another version is taken for one."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".sql", ".json")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _write(file: Path, outcome: Mapping[str, float]) -> None:
    partial = file.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(outcome, sort_keys=True), "utf-8")
    partial.replace(file)


def _result(table: pd.DataFrame) -> Result:
    base, *others = dict.fromkeys(table["arm"])
    settings = count(table["setting"].nunique(), "workload")
    seeds = int(table["seed"].nunique())
    arms = count(len(others) + 1, "policy", "policies")
    return Result(
        name="sweep",
        table=table,
        facts=(Fact("runs", len(table), "runs"), Fact("seeds", seeds, "seeds of each")),
        sentences=(
            f"{count(len(table), 'run')}: {settings}, {arms}, "
            f"{count(seeds, 'seed')}. Policies are held against {base}, on the same jobs.",
            *_said(changes(table), base),
        ),
        caveats=(
            ()
            if seeds >= FEWEST_SEEDS
            else (
                f"With {count(seeds, 'seed')} there is no interval: give {FEWEST_SEEDS} or more.",
            )
        ),
        synthetic=True,
        question=QUESTION,
    )


def changes(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how much each policy changes each measure against the first one, in percent.

    Returns
    -------
    pandas.DataFrame
        Columns setting, load, arm, measure, change_pct, low_pct, high_pct (95 % interval over
        seeds, of the mean logarithm of ratios), seeds. Measures that are nowhere above zero in a
        pair have no ratio and are left out.
    """
    base, *others = dict.fromkeys(table["arm"])
    # a load that was not asked for is a group like any other
    numbered = table.assign(load=table["load"].fillna(0.0))
    found = []
    for measure, arm in product(MEASURES, others):
        with_ratio = numbered.where(numbered[measure] > 0).dropna(subset=[measure])
        rows = effects(with_ratio, measure, arm, base).rename(columns={"effect_pct": "change_pct"})
        found.append(rows.assign(arm=arm, measure=measure))
    columns = ["setting", "load", "arm", "measure", "change_pct", "low_pct", "high_pct", "seeds"]
    if not found:
        return pd.DataFrame(columns=columns)
    together = pd.concat(found, ignore_index=True)[columns]
    return together.assign(load=together["load"].where(together["load"] > 0))


def _said(found: pd.DataFrame, base: str) -> Iterator[str]:
    jct = found[found["measure"] == "mean_jct_s"]
    for setting, rows in jct.groupby("setting", sort=False):
        highest = rows["load"].max()
        at = "" if np.isnan(highest) else f" at a load of {highest:g}"
        shown = rows if np.isnan(highest) else rows[rows["load"] == highest]
        each = (
            f"{row['arm']} {percent(Paired(*(row[c] for c in _EFFECT)))}"
            for row in shown.to_dict("records")
        )
        yield (
            f"{setting}{at}: the mean completion time changes against {base} by "
            + "; ".join(each)
            + "."
        )


def plot(result: Result) -> Figure:
    """Draw mean completion times by policy, and what each policy changes against the first."""
    table = result.table
    if table.empty:
        return empty(canvas()[0], "nothing was run")
    settings = list(dict.fromkeys(table["setting"]))
    base, *others = dict.fromkeys(table["arm"])
    fig, axes = canvas(2, len(settings), width=10, height=3.5 * len(settings) + 0.6)
    for left, right, setting in zip(axes[::2], axes[1::2], settings, strict=True):
        rows = table[table["setting"] == setting]
        heading(left, f"{setting}: mean completion time")
        heading(right, f"{setting}: its change against {base}")
        if rows["load"].isna().all() or rows["load"].min() == rows["load"].max():
            _seed_by_seed(left, rows)
            _change_by_arm(right, rows)
        else:
            _over_load(left, rows)
            over_load(right, rows, "mean_jct_s", [(arm, base, arm) for arm in others], setting)
            right.set_ylabel("% (band: 95 % interval)")
            below(right, columns=2)
    return fig


def _over_load(ax: Axes, rows: pd.DataFrame) -> None:
    for i, (arm, own) in enumerate(rows.groupby("arm", sort=False)):
        hours = own.groupby("load")["mean_jct_s"].mean() / 3600
        # the first is in the colour of no change
        color = INK if i == 0 else CYCLE[(i - 1) % len(CYCLE)]
        ax.plot(hours.index, hours, color=color, marker="o", ms=3, label=arm)
    ax.set(
        xlabel="offered load", ylabel="hours, mean of the seeds", xticks=sorted(set(rows["load"]))
    )
    ax.set_ylim(bottom=0)
    below(ax, columns=2)


def _seed_by_seed(ax: Axes, rows: pd.DataFrame) -> None:
    arms = list(dict.fromkeys(rows["arm"]))
    for at, arm in enumerate(reversed(arms)):
        hours = rows.loc[rows["arm"] == arm, "mean_jct_s"] / 3600
        ax.scatter(hours, [at] * len(hours), color=MUTED, s=10, alpha=0.7, lw=0)
        ax.scatter([hours.mean()], [at], color=INK, s=34, zorder=3)
    ax.set_yticks(range(len(arms)), arms[::-1])
    ax.set_ylim(-0.6, len(arms) - 0.4)
    ax.set_xlim(left=0)
    ax.set_xlabel("hours (grey: each seed; dark: their mean)")


def _change_by_arm(ax: Axes, rows: pd.DataFrame) -> None:
    found = changes(rows)
    found = found[found["measure"] == "mean_jct_s"].iloc[::-1].reset_index(drop=True)
    error = [found["change_pct"] - found["low_pct"], found["high_pct"] - found["change_pct"]]
    ax.errorbar(found["change_pct"], found.index, xerr=error, fmt="o", color=INK, ms=5)
    ax.axvline(0, color=MUTED, lw=0.8)
    ax.set_yticks(found.index, list(found["arm"]))
    ax.set_ylim(-0.6, len(found) - 0.4)
    ax.set_xlabel("% (line: 95 % interval)")
