"""Sweeps of what-ifs: workloads, policies, loads and seeds, with policies compared in pairs."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from itertools import product
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import OutputError
from philly_analysis.experiments.effects import ARM, effects
from philly_analysis.experiments.panels import over_load
from philly_analysis.experiments.runs import Run, outcome_of
from philly_analysis.parallel import map_ordered
from philly_analysis.results import NOT_KNOWN, Fact, Paired, Result, change_text, count, quantity
from philly_analysis.results.figures import (
    CYCLE,
    INK,
    MUTED,
    canvas,
    empty,
    forest,
    label_lines,
    title,
)
from philly_analysis.workload import SCALARS

MEASURES = tuple(name for name, _, _ in SCALARS)
"""Measures of each run: those of a comparison of traces."""

_EFFECT = ("change_pct", "low_pct", "high_pct", "seeds")

_SHOWN = {
    "mean_jct_s": "mean completion time",
    "p50_jct_s": "median",
    "p99_jct_s": "99th percentile",
    "mean_wait_s": "mean queueing delay",
    "preemptions": "preemptions",
}
"""Measures in the page's table, and their headings."""

FEWEST_SEEDS = 3
"""Minimum number of seeds for an interval."""


def sweep(planned: Sequence[Run], folder: str | Path, executor: Executor) -> Result:
    """Simulate the runs that have no outcome in a folder, and compare the policies in pairs.

    Parameters
    ----------
    folder
        Folder of outcomes, one file per run, so that an interrupted sweep can be resumed.
    executor
        Executes the runs; results are equal on any.

    Returns
    -------
    Result
        A row per run: setting (workload), load, arm (policy and knobs), seed, and the measures of
        :data:`~philly_analysis.workload.outcomes.SCALARS`.
    """
    folder = Path(folder)
    files = [folder / f"{run.key()}.json" for run in planned]
    missing = [run for run, file in zip(planned, files, strict=True) if not file.is_file()]
    outcomes = map_ordered(executor, outcome_of, missing, ahead=64)
    for run, outcome in zip(missing, outcomes, strict=True):
        file = folder / f"{run.key()}.json"
        try:
            with atomic_write(file) as partial:
                partial.write_text(json.dumps(outcome, sort_keys=True), "utf-8")
        except OSError as error:
            raise OutputError(f"{file} cannot be written: {error.strerror or error}") from None
    rows = [
        (run.setting, run.load, run.arm, run.seed, *map(json.loads(text).get, MEASURES))
        for run, text in zip(planned, (file.read_text("utf-8") for file in files), strict=True)
    ]
    return _result(pd.DataFrame(rows, columns=[*ARM, *MEASURES]))


def _result(table: pd.DataFrame) -> Result:
    base, *others = dict.fromkeys(table["arm"])
    seeds = int(table["seed"].nunique())
    each = count(seeds, "seed")
    few = f"With {each} there is no interval: give {FEWEST_SEEDS} or more."
    return Result(
        name="sweep",
        table=table,
        facts=(Fact("runs", len(table), "runs"), Fact("seeds", seeds, "seeds of each")),
        sentences=(
            *_sentences(_jct_changes(table), base),
            f"{count(len(table), 'run')}: {count(table['setting'].nunique(), 'workload')}, "
            f"{count(len(others) + 1, 'policy', 'policies')}, {each}. Policies are compared with "
            f"{base}, on the same jobs.",
        ),
        caveats=(few,) * (seeds < FEWEST_SEEDS),
        synthetic=True,
        question="What does each policy change, and how sure is that?",
    )


def changes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the percent change of each measure by each policy against the first one.

    Returns
    -------
    pandas.DataFrame
        Columns setting, load, arm, measure, change_pct, low_pct, high_pct (95 % interval over
        seeds, of the mean logarithm of ratios), seeds. Measures without positive values in a pair
        have no ratio and are excluded.
    """
    base, *others = dict.fromkeys(table["arm"])
    # grouping drops missing values: 0 marks runs without a load
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


def _jct_changes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the changes of the mean completion time, with an effect for each row."""
    found = changes(table)
    found = found[found["measure"] == "mean_jct_s"]
    effects_of = [Paired(*row) for row in found[[*_EFFECT]].itertuples(index=False)]
    effect = pd.Series(effects_of, index=found.index, dtype=object)
    return found.assign(effect=effect, load=found["load"].fillna(0.0))


def policy_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return measures and changes by policy as text: means over the seeds."""
    base, *_ = table["arm"]
    change = _jct_changes(table).set_index(ARM[:-1])["effect"].map(change_text).to_dict()
    rows = []
    runs_of = table.assign(load=table["load"].fillna(0.0)).groupby(ARM[:-1], sort=False)
    for (workload, load, arm), runs in runs_of:
        means = {name: pd.to_numeric(runs[name]).mean() for name in _SHOWN}
        first, *rest = (
            NOT_KNOWN if m != m else quantity(name, float(m)) for name, m in means.items()
        )
        key = (workload, load or NOT_KNOWN, arm)
        rows.append((*key, first, change.get((workload, load, arm), ""), *rest))
    heading, *headings = _SHOWN.values()
    names = ["workload", "load", "policy", heading, f"against {base}", *headings]
    return pd.DataFrame(rows, columns=names)


def _sentences(jct: pd.DataFrame, base: str) -> Iterator[str]:
    for setting, rows in jct.groupby("setting", sort=False):
        highest = rows["load"].max()
        at = f" at a load of {highest:g}" if highest else ""
        shown = rows[rows["load"] == highest]
        each = "; ".join(shown["arm"] + " " + shown["effect"].map(change_text))
        yield f"{setting}{at}: the mean completion time changes against {base} by {each}."


def plot(result: Result) -> Figure:
    """Draw mean completion times by policy, and their changes against the first policy."""
    table = result.table
    if table.empty:
        return empty(canvas()[0], "no runs")
    settings = list(dict.fromkeys(table["setting"]))
    base, *others = dict.fromkeys(table["arm"])
    fig, axes = canvas(2, len(settings), width=10, height=3.5 * len(settings) + 0.6)
    for left, right, setting in zip(axes[::2], axes[1::2], settings, strict=True):
        rows = table[table["setting"] == setting]
        title(left, f"{setting}: mean completion time")
        title(right, f"{setting}: its change against {base}")
        if rows["load"].isna().all() or rows["load"].min() == rows["load"].max():
            _seed_by_seed(left, rows)
            jct = _jct_changes(rows).set_index("arm")["effect"]
            forest(right, [(str(arm), effect, INK) for arm, effect in jct.items()])
            right.set_xlabel("% (line: 95 % interval)")
        else:
            _over_load(left, rows)
            over_load(right, rows, "mean_jct_s", [(arm, base, arm) for arm in others], setting)
            right.set_ylabel("% (line: 95 % interval)")
            label_lines(right)
    return fig


def _over_load(ax: Axes, rows: pd.DataFrame) -> None:
    for i, (arm, own) in enumerate(rows.groupby("arm", sort=False)):
        hours = own.groupby("load")["mean_jct_s"].mean() / 3600
        # the baseline has the colour of no change
        color = INK if i == 0 else CYCLE[(i - 1) % len(CYCLE)]
        ax.plot(hours.index, hours, color=color, marker="o", ms=3, label=arm)
    ax.set(
        xlabel="offered load", ylabel="hours, mean of the seeds", xticks=sorted(set(rows["load"]))
    )
    ax.set_ylim(0, 1.05 * ax.get_ylim()[1])  # nearly equal times need room above
    label_lines(ax)


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
