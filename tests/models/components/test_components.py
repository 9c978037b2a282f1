"""Components of a workload model, each fitted alone; run times are in test_duration."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from philly_analysis.errors import ModelError, PhillyError, UnknownNameError
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.failures import Failures
from philly_analysis.models.components.gang_size import GangSize, GangSizeDistribution
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.users import (
    Users,
    _duration_correlation,
    with_sample_names,
)
from philly_analysis.models.components.utilisation import Utilisation, UtilisationDistribution
from philly_analysis.models.persistence import from_json, to_json
from philly_analysis.study.terms import gang_class
from tests.models.components.test_duration import DURATION
from tests.models.jobs import JOBS, frame, two_clusters


def test_gang_classes_are_the_study_buckets() -> None:
    assert gang_class([1, 2, 3, 4, 5, 8, 9, 128]).tolist() == [0, 1, 1, 1, 2, 2, 3, 3]


def test_gang_sizes_by_hand() -> None:
    sizes = GangSizeDistribution.fit([1, 1, 1, 8])
    assert sizes.pmf(8) == 0.25 and sizes.pmf([1, 2]).tolist() == [0.75, 0]
    assert sizes.cdf([0, 1, 7, 8]).tolist() == [0, 0.75, 0.75, 1]
    np.testing.assert_array_equal(sizes.ppf([0, 0.75, 0.76, 1, np.nan]), [1, 1, 8, 8, np.nan])
    assert sizes.mean() == 2.75
    wilson = binomtest(1, 4).proportion_ci(method="wilson")
    assert (sizes.low[1], sizes.high[1]) == pytest.approx((wilson.low, wilson.high), abs=1e-4)
    assert sizes.up_to(4).pmf(1) == 1 and sizes.up_to(8) == sizes


@pytest.mark.parametrize(
    ("gpus", "cluster", "p"),
    [
        # residuals by cluster are 0, 1 and -1: a variance of 2 / 36 * 3 / 2
        ([1, 4, 1, 1, 4, 4], ["a", "a", "b", "b", "c", "c"], 0.5),
        # they are 0.5 and -0.5: 2 * (0.25 + 0.25) / 4^2
        ([1, 1, 1, 8], ["a", "a", "b", "b"], 0.75),
    ],
)
def test_the_interval_of_a_gang_size_is_that_of_three_independent_jobs(
    gpus: list[int], cluster: list[str], p: float
) -> None:
    sizes = GangSizeDistribution.fit(gpus, cluster)
    n, z = 3, 1.96
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert sizes.shares[0] == p
    assert (sizes.low[0], sizes.high[0]) == pytest.approx((middle - half, middle + half))


def test_gang_sizes_by_virtual_cluster() -> None:
    model = GangSize.fit([1, 1, 4, 4], ["a", "a", "b", "b"])
    assert model(vc="a").pmf(1) == 1 and model(vc="b").pmf(4) == 1 and model.pmf(1) == 0.5
    with pytest.raises(UnknownNameError, match="no virtual cluster named 'c'"):
        model(vc="c")


def test_run_times_of_fewer_than_twenty_pairs_are_not_correlated() -> None:
    for pairs, expected in ((19, 0), (20, 0.25)):
        gpus, score = np.ones(pairs + 1, int), np.full(pairs + 1, 0.5)
        assert _duration_correlation(gpus, score, np.ones(pairs, bool)) == expected


def test_statuses_and_retries() -> None:
    model = Status.fit(JOBS)
    assert model
    assert model.shares(8)["Failed"] == pytest.approx(0.6, abs=0.05)
    assert model.shares(1)["Failed"] == pytest.approx(0.2, abs=0.04)
    rng = np.random.default_rng(1)
    gpus, vc = JOBS["gpus"].to_numpy(), JOBS["vc"].to_numpy(str)
    status = model.sample(rng.random(len(JOBS)), gpus, vc, rng)
    for g in (1, 8):
        real = (JOBS["status"][gpus == g] == "Failed").mean()
        assert (status[gpus == g] == "Failed").mean() == pytest.approx(real, abs=0.02)
    tries = model.sample_attempts(gpus, status, rng)
    assert (tries[status == "Pass"] == 1).all()
    assert tries[status == "Failed"].mean() == pytest.approx(2, abs=0.1)
    assert Status.fit(JOBS.assign(status=None)) is None


def test_attempts_are_drawn_by_gang_and_status() -> None:
    rows = [(1, "Pass", 1), (1, "Failed", 4), (8, "Pass", 2), (8, "Failed", 3)]
    jobs = pd.DataFrame(rows * 5, columns=["gpus", "status", "attempts"])
    model = Status.fit(jobs.assign(vc="v", last_share=None))
    assert model is not None
    gpus, status, attempts = zip(*rows, strict=True)
    drawn = model.sample_attempts(np.array(gpus), np.array(status), np.random.default_rng(1))
    assert drawn.tolist() == list(attempts)


def test_a_virtual_cluster_of_a_hundred_jobs_has_statuses_of_its_own() -> None:
    vc = ["a"] * 100 + ["b"] * 99 + ["c"] * 100
    model = Status.fit(frame(np.arange(299.0), 1.0, vc=vc, status="Pass"))
    assert model
    assert {cell.vc: cell.n for cell in model.cells} == {"a": 100, "c": 100, "*": 99}


def test_users_have_the_fitted_shares_and_repetition() -> None:
    rng = np.random.default_rng(0)
    fresh = rng.random(5_000) > 0.8
    names = np.array(["ann", "bob", "cyd"])[rng.integers(0, 3, 5_000)][
        np.maximum.accumulate(np.where(fresh, np.arange(5_000), 0))
    ]
    jobs = two_clusters(5_000).assign(user=names, vc="v", submitted_s=60 * np.arange(5_000.0))
    model = Users.fit(jobs)
    assert model.repeat_in_burst == pytest.approx(0.8, abs=0.02)
    assert model.repeat_otherwise == 0, "no gap is longer than a minute"
    _, user, number = model.sample(60 * np.arange(5_000.0), rng)
    again = (number[1:] == number[:-1]).mean()
    assert again == pytest.approx((names[1:] == names[:-1]).mean(), abs=0.03)
    shares = pd.Series(user).value_counts(normalize=True).to_numpy()
    real = pd.Series(names).value_counts(normalize=True).to_numpy()
    np.testing.assert_allclose(shares, real, atol=0.001)


def test_a_user_of_two_virtual_clusters_is_one_user() -> None:
    jobs = frame(np.arange(10.0), 1.0, vc=list("aaaabbbbbb"), user=list("xxxyxzzzzy"))
    model = Users.fit(jobs)
    # x is at home in a, z in b; y has one job in each, and a comes first
    assert dict(zip(model.names, (c.names for c in model.virtual_clusters), strict=True)) == {
        "b": ("b-u001", "a-u001", "a-u002"),
        "a": ("a-u001", "a-u002"),
    }
    assert model.by_user == pytest.approx({"a-u001": 0.4, "a-u002": 0.2, "b-u001": 0.4})
    assert model.top_tenth_share == pytest.approx(0.4), "the busiest of three users"
    assert with_sample_names(jobs)["user"].tolist() == [
        *["a-u001"] * 3, "a-u002", "a-u001", *["b-u001"] * 4, "a-u002",
    ]  # fmt: skip
    _, user, _ = model.sample(np.arange(1_000.0), np.random.default_rng(0))
    assert pd.Series(user).value_counts(normalize=True)["a-u001"] == pytest.approx(0.4, abs=0.01)


def test_without_users_each_virtual_cluster_is_one_user() -> None:
    model = Users.fit(JOBS.assign(user=None))
    assert not model.named
    assert sorted(model.names) == ["a", "b"]
    assert all(len(c.user_shares) == 1 for c in model.virtual_clusters)


def test_failures_by_hand() -> None:
    failures = pd.DataFrame(
        {"reason": ["oom"] * 5 + ["typo"] * 4, "gpus": [1] * 3 + [8] * 6, "run_s": [60.0] * 9}
    )
    model = Failures.fit(failures)
    assert model
    assert model.shares() == pytest.approx({"oom": 5 / 9, "typo": 4 / 9})
    assert model.shares(8) == pytest.approx({"oom": 1 / 3, "typo": 2 / 3})
    assert model.time_to_failure("oom").median() == pytest.approx(60)
    drawn = model.sample(np.repeat([8, 64], 2_000), np.random.default_rng(0))
    for gang, share in ((drawn.head(2_000), 1 / 3), (drawn.tail(2_000), 5 / 9)):  # unseen: of all
        assert (gang["reason"] == "oom").mean() == pytest.approx(share, abs=0.04)
    assert drawn.loc[drawn["reason"] == "oom", "run_s"].eq(60).all()
    assert drawn.loc[drawn["reason"] == "typo", "run_s"].isna().all()
    assert Failures.fit(failures.assign(gpus=0)) is None
    for call, words in (
        (lambda: model.time_to_failure("typo"), "typo: 4 failures are too few"),
        (lambda: model.time_to_failure("ooom"), "Did you mean 'oom'"),
        (lambda: model.shares(64), "no failure of a job of 64 GPUs"),
    ):
        with pytest.raises(PhillyError, match=words):
            call()


def test_locality_by_hand() -> None:
    spreads = pd.DataFrame({"gpus": [8, 8, 16], "servers": [1, 2, 2], "attempts": [3, 1, 5]})
    model = Locality.fit(spreads)
    assert model
    assert model.of(8).pmf([1, 2, 3]).tolist() == [0.75, 0.25, 0]
    assert model.of(8).mean() == 1.25
    assert model.of(64).mean() == model.of(12).mean() == 2  # the nearest gang seen
    assert model.of(1).mean() == 1.25
    with pytest.raises(ModelError, match="a gang has at least one GPU, not 0"):
        model.of(0)
    assert set(model.of(8).rvs(50, 1)) == {1, 2}
    assert Locality.fit(spreads.head(0)) is None


def test_utilisation_by_hand() -> None:
    use = pd.DataFrame(
        {
            "gpus": 8,
            "servers": [1, 1, 2, 3],
            "status": "Pass",
            "bin": [0, 100, 50, 10],
            "minutes": [250.0, 250.0, 501.0, 499.0],
        }
    )
    model = Utilisation.fit(use)
    assert model
    alone = model(8, servers=1, status="Pass")
    assert alone.cdf(0) == 0.5 and alone.cdf(99) == 0.5 and alone.cdf(100) == 1
    assert alone.mean() == pytest.approx(0.5 * 99.5)
    assert model(8, servers=2).mean() == model(5, servers=2, status="Failed").mean() == 49.5
    every = (250 * 99.5 + 501 * 49.5 + 499 * 9.5) / 1_500
    # too few minutes on three servers: those of the gang size
    assert model().mean() == pytest.approx(every, rel=1e-3) == model(8, servers=3).mean()
    assert alone.pdf([0, 0.5, 99.5, 100, 101]).tolist() == [0, 0, 0.5, 0.5, 0]
    assert alone.cdf([-1, 99.5, 101]).tolist() == [0, 0.75, 1]
    low = UtilisationDistribution((0.5, 0.5, *[0.0] * 99), 1)
    assert low.pdf([0, 1]).tolist() == [0, 0.5], "the probability of exactly 0 has no density"
    q = np.linspace(0.51, 0.99, 20)
    np.testing.assert_allclose(alone.cdf(alone.ppf(q)), q, atol=1e-9)
    assert set(np.round(alone.rvs(200, 0)) // 99) <= {0, 1}
    assert Utilisation.fit(use.assign(bin=None)) is None
    with pytest.raises(ModelError, match="a gang has at least one GPU, not 0"):
        model(0)


@pytest.mark.parametrize(
    "part",
    [
        GangSize.fit(JOBS["gpus"], JOBS["vc"]),
        Status.fit(JOBS),
        Users.fit(JOBS),
        DURATION,
        Arrivals.fit(JOBS["submitted_s"]),
        Locality.fit(pd.DataFrame({"gpus": [8], "servers": [1], "attempts": [3]})),
    ],
    ids=lambda p: type(p).__name__,
)
def test_json_round_trips(part: Any) -> None:
    assert from_json(type(part), to_json(part)) == part


GANGS_BY_VC = GangSize.fit([1, 1, 4, 4], ["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: GangSizeDistribution.fit([]), "there are no jobs"),
        (lambda: GangSizeDistribution.fit([0, 1]), "at least one GPU"),
        (lambda: GangSizeDistribution.fit([np.nan]), "at least one GPU"),
        (lambda: GANGS_BY_VC.overall.up_to(0), "at most 0 GPUs was observed; the smallest has 1"),
        (lambda: Users.fit(JOBS.head(0)), "users: there are no jobs"),
        (lambda: Duration.fit(JOBS.head(0)), "there are no jobs"),
        (lambda: Duration.fit(JOBS.assign(run_s=0.0)), "all 3000 run times are zero"),
        (lambda: Duration.fit(JOBS.assign(run_s=-1.0)), "3000 run times are negative"),
        (lambda: Duration.fit(JOBS.assign(censored=True)), "0 of 3000 jobs have a known end"),
        (lambda: DURATION(0), "a gang has at least one GPU, a number, not 0"),
        (lambda: DURATION(1, hour=24), "the hour must be 0 to 23, not 24"),
        (lambda: DURATION(1, status="Passed"), "Did you mean 'Pass'"),
        (lambda: from_json(GangSize, "{"), "is not a readable workload model"),
        (lambda: from_json(GangSize, "[]"), "is not a workload model of format 1"),
        (lambda: from_json(GangSize, '{"format":9}'), "is not a workload model of format 1"),
        (lambda: from_json(GangSize, '{"format":1}'), "is not a readable workload model"),
        (lambda: from_json(GangSize, '{"format":1,"nonsense":2}'), "no field 'nonsense'"),
    ],
)
def test_impossible_input_is_an_error(call: Callable[[], object], words: str) -> None:
    with pytest.raises(PhillyError, match=words):
        call()
