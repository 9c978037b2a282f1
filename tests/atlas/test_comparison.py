"""Check the three sentences that set a cluster beside the public ones."""

from dataclasses import replace

import pytest

from philly_analysis.atlas.claim import Finding, Verdict
from philly_analysis.atlas.comparison import compare_clusters
from philly_analysis.atlas.resampling import Estimate

SHORT, BURSTS, COST, LARGE = (
    "jobs_are_short",
    "submissions_are_bursty",
    "unsuccessful_jobs_cost_most",
    "gpu_time_is_in_large_gangs",
)
HOLDS, REVERSED, ABSENT, UNDECIDED = Verdict


def one(claim: str, verdict: Verdict, value: float, *ends: float) -> Finding:
    low, high = ends or (value, value)
    return Finding(claim, "ours", verdict, effect=Estimate(value, low, high))


def public(claim: str, *values: float, verdict: Verdict = HOLDS) -> list[Finding]:
    return [one(claim, verdict, v) for v in values]


def test_what_is_unlike_and_what_is_extreme() -> None:
    mine = {
        SHORT: one(SHORT, REVERSED, 7_200, 7_000, 7_400),
        BURSTS: one(BURSTS, HOLDS, 9, 8.5, 10),
        COST: one(COST, HOLDS, 1.5, 1.4, 1.6),
        LARGE: one(LARGE, UNDECIDED, 50, 40, 60),
    }
    others = {
        SHORT: [*public(SHORT, 60, 120), *public(SHORT, 9_000, verdict=REVERSED)],
        BURSTS: public(BURSTS, 2, 8),
        COST: public(COST, 1.2, 1.7),
        LARGE: public(LARGE, 70, 80),
    }
    assert compare_clusters("ours", mine, others) == [
        "3 claims are decided for ours and for at least 2 public clusters: its verdict is the "
        "verdict of most on 2 of 3.",
        "Unlike most public clusters: “Most jobs are short” is reversed (2 h [117 min, 2.06 h]), "
        "as on 1 of 3.",
        "The verdict agrees and the effect is beyond all others: “Submissions come in bursts” "
        "(9× [8.50×, 10×]; elsewhere 2× to 8×).",
    ]


@pytest.mark.parametrize(
    ("mine", "extreme"),
    [
        ((9.0, 8.1, 10.0), True),
        ((9.0, 8.0, 10.0), False),  # its interval touches the largest of the others
        ((1.5, 1.2, 1.9), True),
        ((1.5, 1.2, 2.0), False),
    ],
)
def test_an_effect_is_extreme_if_its_interval_is_outside(
    mine: tuple[float, float, float], extreme: bool
) -> None:
    value, *ends = mine
    comparison = compare_clusters(
        "ours", {BURSTS: one(BURSTS, HOLDS, value, *ends)}, {BURSTS: public(BURSTS, 2, 8)}
    )
    assert comparison[1] == "No verdict contradicts most public clusters."
    assert ("beyond all others" in comparison[2]) == extreme


def test_percentages_are_compared_as_they_are() -> None:
    others = {LARGE: public(LARGE, 70, 80)}
    for ends, extreme in (((81.0, 90.0), True), ((80.0, 90.0), False), ((60.0, 69.0), True)):
        mine = {LARGE: one(LARGE, HOLDS, sum(ends) / 2, *ends)}
        assert ("beyond all" in compare_clusters("ours", mine, others)[2]) == extreme
        assert ("no effect" in compare_clusters("ours", mine, others)[2]) != extreme


@pytest.mark.parametrize("n", [1, 2])
def test_a_comparison_needs_two_public_clusters(n: int) -> None:
    values = [60.0, 90.0][:n]
    comparison = compare_clusters(
        "ours", {SHORT: one(SHORT, HOLDS, 70)}, {SHORT: public(SHORT, *values)}
    )
    if n == 1:
        assert "cannot be compared" in comparison[0]
    else:
        assert comparison[0].startswith("1 claim is decided") and comparison[0].endswith(
            "on 1 of 1."
        )
        assert len(comparison) == 3


def test_a_comparison_of_nothing_gives_the_reasons() -> None:
    mine = {
        SHORT: replace(one(SHORT, UNDECIDED, 1), brief="no run times"),
        COST: replace(one(COST, UNDECIDED, 1), brief="no run times"),
        LARGE: one(LARGE, UNDECIDED, 50, 40, 60),
    }
    assert compare_clusters("ours", mine, {c: [] for c in mine})[1] == (
        "Most frequent reasons for undecided claims: no run times (2), too wide an interval (1)."
    )


def test_a_verdict_that_as_many_others_have_is_not_unlike() -> None:
    others = {SHORT: [*public(SHORT, 60), *public(SHORT, 9_000, verdict=REVERSED)]}
    comparison = compare_clusters("ours", {SHORT: one(SHORT, REVERSED, 8_000)}, others)
    assert comparison[1].startswith("No verdict contradicts")


def test_at_most_three_are_named() -> None:
    claims = [SHORT, BURSTS, COST, LARGE, "failures_repeat"]
    mine = {c: one(c, REVERSED, 1) for c in claims}
    comparison = compare_clusters("ours", mine, {c: public(c, 5, 6) for c in claims})
    assert comparison[1].count("“") == 3 and comparison[1].endswith("; and 2 more.")
