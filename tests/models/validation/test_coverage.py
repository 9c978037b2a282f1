"""Coverage of predictive intervals: windows, resampling, scores."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import StepPatch

from data.checks import coverage as coverage_check
from philly_analysis.models.components.sessions import job_clusters
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation import coverage
from philly_analysis.models.validation.calibration import WORKLOAD_MODEL
from philly_analysis.models.validation.coverage import (
    METHODS,
    STATISTICS,
    score,
    statistics,
    window_pairs,
)
from philly_analysis.models.validation.resampling import RESAMPLERS
from tests.models.jobs import frame


def cluster(days: int = 30, users: int = 12, seed: int = 0) -> Observations:
    """Return users of one job class each, who are active on some days only."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        for day in np.flatnonzero(rng.random(days) < 0.4):
            n = rng.integers(2, 30)
            at = day * 86_400 + rng.integers(0, 86_400, n)
            run_s = np.rint(rng.lognormal(4 + user / 3, 0.5, n)) + 1
            rows += [(a, user, int(2 ** (user % 4)), r) for a, r in zip(at, run_s, strict=True)]
    jobs = pd.DataFrame(rows, columns=["at", "user", "gpus", "run_s"]).sort_values("at")
    name = [f"u{u}" for u in jobs["user"]]
    return Observations.of_jobs("made", jobs["at"], jobs["gpus"], jobs["run_s"], user=name)


MADE = cluster()


def test_statistics_by_hand() -> None:
    at, run_s = [0.0, 10.0, 4_000.0, 90_000.0], [60.0, 61.0, 7_200.0, np.nan]
    jobs = frame(np.add(at, 1_797), run_s, gpus=[1, 1, 8, 2], user=["a", "a", "b", "a"])
    values = dict(zip(STATISTICS, statistics(jobs, 1_797.0, 5), strict=True))
    assert values["jobs of at most 60 s"] == pytest.approx(1 / 3)
    assert values["jobs of at most 14,400 s"] == 1
    assert [values[f"{g} GPU"] for g in ("1", "2-4", "5-8", ">8")] == [0.5, 0.25, 0.25, 0]
    assert values["mean gang"] == 3
    assert np.exp(values["ln jobs"]) == pytest.approx(4)
    # the job without a run time counts as the mean of the others
    assert np.exp(values["ln GPU hours"]) == pytest.approx((121 + 8 * 7_200) / 3_600 * 4 / 3)
    hourly = np.array([2, 1, *[0] * 23, 1, *[0] * 94])
    assert np.exp(values["ln dispersion"]) == pytest.approx(hourly.var() / hourly.mean())
    assert np.exp(values["ln users"]) == pytest.approx(2)
    assert values["share of the busiest tenth"] == 0.75


def test_pairs_are_consecutive_and_of_one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(window_pairs(MADE, lengths_d=(5, 7), most=2))
    assert [a.days for a, _ in found] == [5, 5, 7, 7]
    at = MADE.jobs["submitted_s"]
    for a, b in found:
        assert b.start_s == a.start_s + a.days * 86_400
        for window in (a, b):
            inside = at.between(window.start_s, window.start_s + window.days * 86_400 - 1e-6)
            assert len(window.data.jobs) == inside.sum() >= coverage.MIN_JOBS
    every = list(window_pairs(MADE, lengths_d=(5,)))
    fewest = min(len(window.data.jobs) for pair in every for window in pair)
    monkeypatch.setattr(coverage, "MIN_JOBS", fewest)
    assert len(list(window_pairs(MADE, lengths_d=(5,)))) == len(every)


@pytest.mark.parametrize(("last_h", "pairs"), [(239.5, 1), (238.5, 0)])
def test_two_windows_of_five_days_end_within_an_hour_of_the_last_job(
    monkeypatch: pytest.MonkeyPatch, last_h: float, pairs: int
) -> None:
    monkeypatch.setattr(coverage, "MIN_JOBS", 1)
    at = 3_600 * (1_000 + np.array([0, 100, 200, last_h]))
    jobs = Observations.of_jobs("made", at, [1] * 4, [60.0] * 4)
    assert len(list(window_pairs(jobs, lengths_d=(5,)))) == pairs


@pytest.mark.parametrize("name", RESAMPLERS)
def test_resampled_jobs_are_jobs_of_the_window(name: str) -> None:
    window = next(window_pairs(MADE, lengths_d=(14,)))[0]
    jobs = window.data.jobs
    drawn = RESAMPLERS[name](jobs, window.start_s, np.random.default_rng(1))
    assert len(jobs) / 4 < len(drawn) < 4 * len(jobs)
    assert set(zip(drawn["gpus"], drawn["run_s"], strict=True)) <= set(
        zip(jobs["gpus"], jobs["run_s"], strict=True)
    )
    at = drawn["submitted_s"] - window.start_s
    assert (at >= 0).all() and (at < window.days * 86_400).all()
    if name == "user blocks":
        assert drawn["user"].nunique() == jobs["user"].nunique()
        of_user = drawn.groupby("user")["run_s"].apply(sorted).tolist()
        assert all(own in jobs.groupby("user")["run_s"].apply(sorted).tolist() for own in of_user)


@pytest.mark.parametrize(
    ("days", "spans"),
    [((0, 1, 2), {0, 1, 2}), ((0, 7, 13), set(range(14))), ((0, 7, 14), {0, 7, 14})],
)
def test_days_or_weeks_of_users_move_to_any_other(days: tuple[int, ...], spans: set[int]) -> None:
    at = 1_797 + 86_400.0 * np.tile(days, 60)
    jobs = frame(at, 1.0, user=[f"u{i // 3}" for i in range(180)])
    drawn = RESAMPLERS["user weeks (Zakay-Feitelson)"](jobs, 1_797, np.random.default_rng(1))
    assert set((drawn["submitted_s"] - 1_797) / 86_400) == spans


def test_each_of_three_users_is_absent_from_8_of_27_samples() -> None:
    jobs = frame([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 2.0, 3.0], user=[*"abbc"])
    rng = np.random.default_rng(1)
    drawn = [set(RESAMPLERS["user blocks"](jobs, 0.0, rng)["run_s"]) for _ in range(1_000)]
    for run_s in (1.0, 2.0, 3.0):
        absent = sum(run_s not in one for one in drawn) / len(drawn)
        assert absent == pytest.approx(8 / 27, abs=4 * np.sqrt(8 / 27 * 19 / 27 / 1_000))


def test_sessions_replace_unknown_users() -> None:
    session = job_clusters(frame([0.0, 60.0, 120.0, 5_000.0], 1.0, gpus=[1, 8, 1, 1]))
    assert session[0] == session[2] and len(set(session)) == 3


def test_scores_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of 1 to 99: the interval is 5 to 95, and a miss by 5 costs 100."""
    levels = np.repeat(np.arange(1.0, 100)[:, None], len(STATISTICS), axis=1)
    monkeypatch.setattr(coverage, "statistics", lambda *_: np.full(len(STATISTICS), 100.0))
    table = score(MADE, methods={"known": lambda *_: levels}, lengths_d=(14,))
    assert len(table) == len(STATISTICS) and not table["covered"].any()
    assert (table["width"] == 90).all() and table["winkler"].tolist() == pytest.approx([190] * 18)
    assert (table["pit"] > 0.99).all()


@pytest.mark.slow
def test_the_model_covers_more_than_independent_jobs() -> None:
    methods = {name: METHODS[name] for name in (WORKLOAD_MODEL, "jobs one by one")}
    table = score(MADE, methods=methods, draws=40, lengths_d=(7, 14), most=1).assign(data="made")
    covered = table.groupby("method")["covered"].mean()
    assert (
        covered[WORKLOAD_MODEL] > covered["jobs one by one"] + 0.1 and covered[WORKLOAD_MODEL] > 0.8
    )
    figure = coverage.plot(table, methods)
    assert len(figure.axes) == len(set(STATISTICS.values()))
    for ax in figure.axes[:4]:
        steps = ax.patches[1:]  # after the band
        assert len(steps) == 2
        for step in steps:  # shares of all windows
            assert isinstance(step, StepPatch)
            assert np.sum(step.get_data()[0]) == pytest.approx(100)
    assert set(coverage_check.summary(table).columns) >= {"covered_pct", "winkler", "width"}
