"""Check by hand the accounts that a figure names, and means weighted by GPU hours."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from philly_analysis.analyses import occupancy, usage


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
    plt.close("all")


def test_a_mean_is_weighted_by_gpu_hours() -> None:
    rows = pd.DataFrame({"hours": [1.0, 3.0], "gpus": [2, 4], "empty_pct": [10.0, 80.0]})
    assert occupancy._mean(rows, "empty_pct") == pytest.approx((2 * 10 + 12 * 80) / 14)
    assert occupancy._mean(rows.head(0), "empty_pct") is None
