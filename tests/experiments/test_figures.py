"""Check that figures of experiments, sweeps and advice show the numbers of their tables."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.container import ErrorbarContainer

from philly_analysis.experiments import conclusions, guidelines, sweeps, synergy
from philly_analysis.experiments.advice import charts
from philly_analysis.experiments.advice.baseline import CANDIDATES, Baseline
from philly_analysis.experiments.effects import USUAL, effects
from philly_analysis.experiments.panels import over_load, sensitivity
from philly_analysis.results import Result, figures
from philly_analysis.simulator.policies import Easy
from tests.experiments.test_conclusions import table as trials_of_headlines
from tests.experiments.test_increments import trials
from tests.experiments.test_sweep import RUNS
from tests.support.drawn_data import bars, curves, misleading, segments

ARMS = {"new": 0.5, "old": 1.0, "older": 1.3}
RATES = pd.concat(
    trials("mean_jct_h", {(load, arm): tuple(load * rate * (seed + 2) ** power for seed in range(4))
                          for load in (0.5, 0.7, 1.5) for arm, rate in ARMS.items()}, setting)
    for setting, power in ((USUAL, 1.0), ("slower", 1.2))
).assign(mean_jct_h=lambda t: t["mean_jct_h"] * (1 + 0.1 * ((t["seed"] * 7 + len(t)) % 3)
                                                 * (t["arm"] != "old"))
         * np.where((t["arm"] == "new") & (t["setting"] == "slower"), 1.3, 1))  # fmt: skip
PAIRS = (("new", "old", "by new"), ("older", "old", "by older"))


def xy(line: Any) -> Any:
    """Return the points of a line."""
    return np.asarray(line.get_xydata(), float)


def dots(ax: Axes) -> Any:
    """Return the middles and ends of a forest plot by row, from below."""
    labels = []
    for one in ax.containers:
        assert isinstance(one, ErrorbarContainer)
        line, _, [span] = one.lines
        (low, at), (high, _) = span.get_segments()[0]
        labels.append((at, xy(line)[0, 0], low, high))
    return np.array(sorted(labels))


def names(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_effects_over_load_have_their_intervals_beside_one_another() -> None:
    fig, [ax] = figures.canvas()
    twice = RATES.assign(load=2 * RATES["load"])
    other_at_one = twice[(twice["setting"] == USUAL) | (twice["load"] == 1.4)]
    over_load(ax, other_at_one, "mean_jct_h", PAIRS)
    shown, spans = curves(ax), segments(ax)
    for (arm, against, label), ends, sign in zip(PAIRS, spans, (-1, 1), strict=True):
        changes = effects(RATES[RATES["setting"] == USUAL], "mean_jct_h", arm, against)
        assert shown[label][:, 1] == pytest.approx(changes["effect_pct"].to_numpy())
        # 1.5 % of the range of loads, 2, lie between the two curves
        assert shown[label][:, 0] - [1.0, 1.4, 3.0] == pytest.approx(sign * 0.015)
        expected = changes[["low_pct", "high_pct"]].to_numpy()
        assert ends[:, :, 1] == pytest.approx(expected)
        assert ends[:, 0, 0] == pytest.approx(shown[label][:, 0])
    assert ax.get_xticks().tolist() == [1.0, 1.4, 3.0]
    assert misleading(fig) == []


@pytest.mark.parametrize("load", [None, 1.5])
def test_sensitivity_is_the_effect_by_setting_the_usual_one_first(load: float | None) -> None:
    fig, [ax] = figures.canvas()
    table = RATES[(RATES["setting"] == USUAL) | (RATES["load"] == 0.7)] if load is None else RATES
    sensitivity(ax, table, "mean_jct_h", ("new", "old"), "change", load=load)
    changes = effects(table, "mean_jct_h", "new", "old")
    changes = changes[changes["load"] == (load or 0.7)].set_index("setting").loc[[USUAL, "slower"]]
    assert names(ax) == [USUAL, "slower"] and ax.get_yticks().tolist() == [1, 0]
    [dotted] = [c for c in ax.collections if isinstance(c, PathCollection)]
    assert np.asarray(dotted.get_offsets())[:, 0] == pytest.approx(changes["effect_pct"].to_numpy())
    ends = segments(ax)[0][:, :, 0]
    assert ends == pytest.approx(changes[["low_pct", "high_pct"]].to_numpy())
    line = [points[0, 0] for points in map(xy, ax.lines) if np.ptp(points[:, 0]) == 0]
    assert line == [pytest.approx(changes["effect_pct"].iloc[0])]
    assert misleading(fig) == []


def test_an_experiment_with_usual_settings_alone_has_no_sensitivity() -> None:
    _, [ax] = figures.canvas()
    sensitivity(ax, RATES[RATES["setting"] == USUAL], "mean_jct_h", ("new", "old"), "change")
    assert not ax.containers


def test_a_sweep_shows_the_change_of_each_policy_in_its_place() -> None:
    figure = sweeps.plot(sweeps.result_of(RUNS))
    for ax, load in zip(figure.axes, (0.5, 1.0), strict=True):
        for at, label in enumerate(names(ax)):
            here = effects(RUNS[RUNS["load"] == load], "mean_jct_s", label, "fifo")
            expected = here[["effect_pct", "low_pct", "high_pct"]].to_numpy()[0]
            assert dots(ax)[at, 1:] == pytest.approx(expected)
    assert misleading(figure) == []


def test_conclusions_show_each_gain_its_interval_and_most_months() -> None:
    result = conclusions.result_of(
        trials_of_headlines({"literature": [1.9, 2.0, 2.1, 2.0], "philly": [1.2, 1.3, 1.25, 1.22]})
    )
    figure = conclusions.plot(result)
    verdicts = conclusions.verdicts(result.table)
    [ax] = figure.axes
    solid = [xy(line) for line in ax.lines if line.get_linestyle() == "-"]
    rows = [row for row in solid if row[0, 0] != 1]
    shown = {row[:, 0].round(9).tobytes() for row in rows}
    for row in verdicts.to_dict("records"):
        for of in (("p5", "p95"), ("low", "high"), ("gain",)):
            assert np.array([row[c] for c in of], float).round(9).tobytes() in shown
    heights = [row[0, 1] for row in rows if len(row) == 1]
    assert len(set(heights)) == len(verdicts) and np.diff(sorted(heights)).min() >= 1
    printed = verdicts[verdicts["source"] != ""].drop_duplicates("headline")
    dotted = [xy(line) for line in ax.lines if line.get_linestyle() == ":"]
    assert sorted(line[0, 0] for line in dotted) == sorted(printed["printed"])
    for line in dotted:  # beside the rows of its headline
        assert sum(line[0, 1] < at < line[1, 1] for at in heights) == 2
    left, right = ax.get_xlim()
    assert left < verdicts["p5"].min() and right > verdicts["p95"].max()
    assert misleading(figure) == []


def test_guidelines_show_times_costs_and_gangs_over_load() -> None:
    rng = np.random.default_rng(2)
    rows = [
        (setting, load, arm, seed, *rng.uniform(5, 9, 5))
        for setting, loads in ((USUAL, (0.6, 0.8)), ("asks 3 times", (0.8,)))
        for load in loads
        for arm in guidelines.ARMS
        for seed in range(3)
    ]
    columns = ["setting", "load", "arm", "seed", *guidelines.GUIDELINES.measures]
    table = pd.DataFrame(rows, columns=columns)
    figure = guidelines.GUIDELINES.plot(Result("guidelines", table))
    times, costs, over, assumed = figure.axes
    for ax, measures in ((times, ("jct_h", "gang_jct_h")), (costs, ("gpu_h",))):
        expected = [
            effects(table, of, arm, guidelines.BASELINE)
            .query("setting == @USUAL and load == 0.8")[["effect_pct", "low_pct", "high_pct"]]
            .to_numpy()[0]
            for arm in guidelines.ARMS[1:]
            for of in measures
        ]
        assert dots(ax)[::-1, 1:] == pytest.approx(np.array(expected))
    for arm, points in curves(over).items():
        if arm in guidelines.ARMS:
            usual = table[table["setting"] == USUAL]
            changes = effects(usual, "gang_jct_h", arm, guidelines.BASELINE)
            assert points == pytest.approx(changes[["load", "effect_pct"]].to_numpy())
    assert set(guidelines.ARMS[1:]) <= set(curves(over))
    first, second = names(assumed)[::-1][:2]
    assert first.endswith(USUAL) and second.endswith("asks 3 times")
    [fault] = misleading(figure)
    assert "completion times" in fault and "ticks repeat" in fault, "each arm's gangs"


def test_synergys_profiles_grow_with_cpus_and_are_one_at_the_proportional_share() -> None:
    _, [ax] = figures.canvas()
    synergy._profiles(ax)
    for points in curves(ax).values():
        if len(points) > 2:
            assert (np.diff(points[:, 1]) >= -1e-12).all()
            assert np.interp(3, *points.T) == pytest.approx(1, abs=0.02)


LEVERS = pd.DataFrame(
    {
        "lever": ["backfill", "limits", "pool"],
        "value_h": [120.0, 40.0, 30.0],
        "value_h_low": [80.0, 20.0, -10.0],
        "value_h_high": [190.0, 50.0, 70.0],
        "later_jobs": [1200, 0, 7],
        "later_users": [12, 0, 3],
    }
)


def test_advice_shows_gains_and_who_loses_by_lever() -> None:
    figure = charts.frontier(Result("frontier", LEVERS))
    gains, losers = figure.axes
    expected = LEVERS[["value_h", "value_h_low", "value_h_high"]].to_numpy()
    assert dots(gains)[::-1, 1:] == pytest.approx(expected)
    assert names(gains)[::-1] == list(LEVERS["lever"])
    [drawn] = losers.containers
    lengths = [bar.get_width() for bar in drawn.patches]  # type: ignore[attr-defined]
    assert lengths[::-1] == list(LEVERS["later_jobs"])
    written = [text.get_text() for text in losers.texts]
    assert written[::-1] == ["1,200 of 12 users", "none", "7 of 3 users"]
    assert misleading(figure) == []
    assert figures.is_empty(charts.frontier(Result("frontier", LEVERS[:0])))


def test_waits_before_and_after_are_in_minutes_or_hours() -> None:
    table = pd.DataFrame(
        {"gang": ["1", "2-4"], "mean_before_s": [600.0, 1200.0], "mean_after_s": [300.0, 60.0]}
    )
    figure = charts.waits_figure(Result("waits", table))
    [ax] = figure.axes
    assert bars(ax) == {
        "now": {"1 GPU": 10.0, "2-4 GPUs": 20.0},
        "after": {"1 GPU": 5.0, "2-4 GPUs": 1.0},
    }
    assert misleading(figure) == []
    long = table.assign(mean_before_s=[36_000.0, 7_200.0])
    [hours] = charts.waits_figure(Result("waits", long)).axes
    assert hours.get_xlabel() == "mean wait, hours"
    assert bars(hours)["now"] == {"1 GPU": 10.0, "2-4 GPUs": 2.0}
    nobody_waits = table.assign(mean_before_s=0.0, mean_after_s=0.0)
    for drawn in (table[["gang"]], nobody_waits):
        assert figures.is_empty(charts.waits_figure(Result("waits", drawn)))


def test_the_queue_is_drawn_from_its_first_day() -> None:
    queue = pd.DataFrame(
        {"at_s": [86_400.0, 2 * 86_400, 4 * 86_400], "recorded": [1.0, 5, 2], "replayed": [0, 4, 3]}
    )
    figure = charts.queue_figure(cast("Baseline", SimpleNamespace(queue=queue)))
    shown = curves(figure.axes[0])
    for of in ("recorded", "replayed"):
        assert shown[of].tolist() == [[0, queue[of][0]], [1, queue[of][1]], [3, queue[of][2]]]
    assert misleading(figure) == []


def test_priority_by_fair_share_weighs_a_week() -> None:
    weights = {c.policy.share_s for c in CANDIDATES if isinstance(c.policy, Easy)}
    assert weights == {0.0, 604_800.0}
