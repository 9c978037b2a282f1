"""Check by hand accounts of a figure and of wide gangs, levels of use, and weighted means."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from philly_analysis.analyses import occupancy, usage, wide_gangs
from philly_analysis.results import Result
from tests.support.clusters import MakeTrace
from tests.support.drawn_data import steps


@pytest.mark.parametrize(("accounts", "named"), [(7, 7), (8, 6)])
def test_one_account_more_than_the_stack_is_named_and_two_are_others(
    accounts: int, named: int
) -> None:
    weeks = pd.DataFrame(
        [
            (week, f"a{i}", 10.0 + i)
            for week in ("2020-01-06", "2020-01-13")
            for i in range(accounts)
        ],
        columns=["week", "vc", "gpu_h"],
    ).assign(
        week=lambda rows: pd.to_datetime(rows["week"]), idle_gpu_h=0.0, jobs=1, sampled_gpu_h=1.0
    )
    ax = plt.figure().subplots()
    usage._draw_weeks(ax, weeks, "vc")
    texts = {text.get_text() for text in ax.texts}
    assert len([text for text in texts if text.startswith("a")]) == named
    assert any("2 others" in text for text in texts) == (named < accounts)
    heights = np.sum(list(steps(ax).values()), axis=0)
    assert heights == pytest.approx([sum(10.0 + i for i in range(accounts))] * 2)
    plt.close("all")


def test_users_without_idle_gpu_hours_are_not_drawn() -> None:
    columns = ["week", "vc", "account", "user", "jobs", "gpu_h", "sampled_gpu_h", "idle_gpu_h"]
    rows = [
        ("2020-01-06", "v", "a", user, 1, 9.0, 9.0, idle) for user, idle in (("x", 3), ("y", 0))
    ]
    table = pd.DataFrame(rows, columns=columns).astype({"idle_gpu_h": float})
    table["week"] = pd.to_datetime(table["week"])
    result = Result("usage", table)
    _, right = usage.plot(result).axes
    assert [label.get_text() for label in right.get_yticklabels()] == ["x"]
    none = usage.plot(Result("usage", table.assign(gpu_h=0.0)))
    assert any("no GPU hours are known" in text.get_text() for text in none.findobj(Text))
    plt.close("all")


@pytest.mark.parametrize(
    ("wide", "listed"),
    [((2, 1, 0), "a0 (2 of 3 attempts, 20.0 GPU hours), a1 (1 of 3 attempts, 10.0 GPU hours)."),
     ((2, 0, 0), "")],
)  # fmt: skip
def test_accounts_of_wide_gangs_are_compared_from_two_on(
    wide: tuple[int, ...], listed: str
) -> None:
    rows = [(f"a{i}", "v", 3, n, 40.0, 10.0 * n) for i, n in enumerate(wide)]
    columns = ["account", "vc", "attempts", "wide", "gpu_h", "wide_gpu_h"]
    sentence = wide_gangs._top_owners(pd.DataFrame(rows, columns=columns))
    owners = "The accounts with most GPU hours on more servers than needed"
    assert sentence == (listed and f"{owners}: {listed}")


def test_a_mean_is_weighted_by_gpu_hours() -> None:
    rows = pd.DataFrame({"hours": [1.0, 3.0], "gpus": [2, 4], "empty_pct": [10.0, 80.0]})
    assert occupancy._mean(rows, "empty_pct") == pytest.approx((2 * 10 + 12 * 80) / 14)
    assert occupancy._mean(rows.head(0), "empty_pct") is None


def test_a_level_counts_as_long_as_it_lasts(make_trace: MakeTrace) -> None:
    trace = make_trace(
        [("a", "v", "u", 2, 0, "Pass"), ("b", "v", "u", 1, 0, "Pass")],
        [("a", 1, 0, 30), ("b", 1, 0, 90)],
        machines={"m": 4},
        placements=[("a", 1, "m", 0), ("a", 1, "m", 1), ("b", 1, "m", 2)],
    )
    levels = trace.sql("select used_pct, hours from occupancy order by all")
    # nothing is used from the last moment of the log on, which has no length
    assert levels.fetchall() == [(25, 1.0), (75, 0.5)]
    assert occupancy.compute(trace).sentences[1] == "The cluster was never two thirds full."
