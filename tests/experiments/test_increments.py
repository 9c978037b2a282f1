"""Check increments over the strongest arm against ratios worked out by hand."""

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from philly_analysis.experiments import EXPERIMENTS
from philly_analysis.experiments.effects import USUAL, WHAT
from philly_analysis.experiments.increments import (
    Increment,
    choice_table,
    draw,
    facts,
    sentences,
)
from philly_analysis.results import Result
from philly_analysis.results.figures import HARMS, HELPS, UNCLEAR, effect_color
from philly_analysis.results.paired_effects import Paired

LESS = Increment("elasticity", "mean_jct_h", "new", ("old", "older"))
MORE = Increment("sharing", "compute_pct", "new", ("old", "older"), more=True, published_pct=30.0)


def trials(
    measure: str, values: Mapping[tuple[float, str], Sequence[float]], setting: str = USUAL
) -> pd.DataFrame:
    """Return a table of trials from each arm's values by seed."""
    rows = [
        (setting, load, arm, seed, value)
        for (load, arm), by_seed in values.items()
        for seed, value in enumerate(by_seed)
    ]
    return pd.DataFrame(rows, columns=["setting", "load", "arm", "seed", measure])


JCT = trials(
    "mean_jct_h",
    {
        (1.0, "new"): (5, 6, 7),
        (1.0, "old"): (10, 12, 13),
        (1.0, "older"): (9, 9, 10),
        (0.5, "new"): (4, 4, 4),
        (0.5, "old"): (4, 3, 5),
        (0.5, "older"): (8, 8, 8),
    },
)
USE = trials(
    "compute_pct",
    {(1.0, "new"): (50, 60, 70), (1.0, "old"): (40, 50, 60), (1.0, "older"): (20, 30, 45)},
)


def interval(new: Sequence[float], old: Sequence[float]) -> tuple[float, float, float]:
    logs = [log(a / b) for a, b in zip(new, old, strict=True)]
    half = t.ppf(0.975, len(logs) - 1) * np.std(logs, ddof=1) / sqrt(len(logs))
    low, middle, high = (100 * (exp(np.mean(logs) + d) - 1) for d in (-half, 0, half))
    return middle, low, high


def test_a_gain_is_over_the_strongest_arm_at_each_load() -> None:
    half, full = LESS.by_load(JCT, USUAL)
    assert (half.load, half.against, full.load, full.against) == (0.5, "old", 1.0, "older")
    change = (full.change.effect, full.change.low, full.change.high)
    assert change == pytest.approx(interval((5, 6, 7), (9, 9, 10)))
    [only] = MORE.by_load(USE, USUAL)
    assert only.against == "old"
    assert only.change.effect == pytest.approx(interval((50, 60, 70), (40, 50, 60))[0])
    assert not LESS.by_load(JCT, "another")


def test_facts_have_every_load_and_interval() -> None:
    named = {fact.name: fact.value for fact in facts([LESS], JCT, USUAL)}
    middle, low, high = interval((5, 6, 7), (9, 9, 10))
    assert named["elasticity_mean_jct_at_1_pct"] == pytest.approx(middle)
    assert named["elasticity_mean_jct_at_1_low_pct"] == pytest.approx(low)
    assert named["elasticity_mean_jct_at_1_high_pct"] == pytest.approx(high)
    assert named["elasticity_mean_jct_at_0_5_pct"] == pytest.approx(
        interval((4, 4, 4), (4, 3, 5))[0]
    )


def test_the_headline_is_the_first_increment_at_one_load() -> None:
    first, others = sentences([LESS, MORE], JCT, USUAL, 1.0)
    middle, low, high = interval((5, 6, 7), (9, 9, 10))
    assert first == (
        f"Elasticity lowers mean completion time by {-middle:.0f} % ({-high:.0f} to {-low:.0f}) at "
        "a load of 1, over “older”, the strongest arm without it."
    )
    middle, low, high = interval((4, 4, 4), (4, 3, 5))
    change = f"{middle:+.1f} % (−{-low:.0f} to {high:+.0f})"
    assert others == f"At other loads: {change} at 0.5."
    unsure, _ = sentences([LESS], JCT, USUAL, 0.5)
    assert unsure.startswith("The effect of elasticity on mean completion time at a load of 0.5")
    assert f"is not significant: {change} over “old”" in unsure
    [more] = sentences([MORE], USE, USUAL, 1.0)
    assert more.startswith("Sharing raises GPU compute in use by 21 % (")
    once = JCT[JCT["seed"] == 0]
    assert next(sentences([LESS], once, USUAL, 1.0)) == (
        "Elasticity lowers mean completion time by 44 % at a load of 1, over “older”, the "
        "strongest arm without it (1 draw, without an interval)."
    )


def test_colours_are_of_gains_and_losses() -> None:
    lower, higher = Paired(-5, -8, -2, 3), Paired(5, 2, 8, 3)
    assert (effect_color(lower), effect_color(higher)) == (HELPS, HARMS)
    assert (effect_color(lower, more=True), effect_color(higher, more=True)) == (HARMS, HELPS)
    assert effect_color(Paired(1, -1, 3, 3)) == UNCLEAR
    assert effect_color(Paired(1, np.nan, np.nan, 1)) == UNCLEAR


def test_the_figure_has_a_panel_per_increment() -> None:
    both = JCT.merge(USE, how="outer")
    result = Result("x", both)
    jct, use = draw((LESS, MORE), USUAL, result).axes
    labels = [label.get_text() for label in jct.get_yticklabels()]
    assert labels == ["1, over older", "0.5, over old"]
    written = [text.get_text() for ax in (jct, use) for text in ax.texts]
    assert "Elasticity: mean completion time" in written
    assert "Sharing: GPU compute in use (dotted: published)" in written
    middle, low, high = (f"−{-of:.0f}" for of in interval((5, 6, 7), (9, 9, 10)))
    assert f"{middle} % ({low} to {high})" in written
    assert [line.get_xdata()[0] for line in use.lines if line.get_linestyle() == ":"] == [30.0]  # type: ignore[index]
    left, right = use.get_xlim()
    assert -100 <= left < -2 < 30 < right
    assert not draw((LESS,), "another", result).axes[0].axison


def test_choices_are_paired_with_the_usual_setting() -> None:
    chosen = trials("mean_jct_h", {(1.0, "new"): (6, 6, 6), (1.0, "old"): (1, 1, 1)}, "choice")
    table = pd.concat([JCT, chosen])
    choices = choice_table([LESS], table, USUAL, ["choice", "not run"], 1.0)
    middle, low, high = interval((6, 6, 6), (5, 6, 7))
    change = f"{middle:+.1f} % (−{-low:.0f} to {high:+.0f})"
    assert choices.to_numpy().tolist() == [["choice", "new", LESS.what, change, "+20 %"]]
    # a choice of an arm without the mechanism
    rival = pd.concat([JCT, chosen[chosen["arm"] == "old"]])
    [(_, arm, *_, largest)] = (
        choice_table([LESS], rival, USUAL, ["choice"], 1.0).to_numpy().tolist()
    )
    assert (arm, largest) == ("old", "−92 %")
    assert choice_table([LESS], table, USUAL, ["choice"], 0.5).empty
    assert choice_table([LESS], chosen, USUAL, ["choice"], 1.0).empty


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_rivals_lack_the_mechanism_and_choices_are_settings(name: str) -> None:
    experiment = EXPERIMENTS[name]
    for one in experiment.increments:
        assert one.arm not in one.rivals and one.measure in experiment.measures
    assert set(experiment.choices) <= set(experiment.sweep.settings) - {experiment.usual}
    assert experiment.shown.keys() <= WHAT.keys()
    assert experiment.increments[0].what in WHAT.values()
