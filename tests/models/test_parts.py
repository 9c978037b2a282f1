"""Components of a workload model, each fitted alone."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from philly_analysis.distributions.stratified import stratified_uniforms
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.failures import Failures
from philly_analysis.models.components.gang_size import GangSize, GangSizeDistribution
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.status_imputation import impute_status
from philly_analysis.models.components.users import Users, with_sample_names
from philly_analysis.models.components.utilisation import Utilisation
from philly_analysis.models.persistence import from_json, to_json
from philly_analysis.models.validation.distances import cdf_gap
from philly_analysis.study.terms import gang_class
from tests.models.jobs import JOBS, frame, two_clusters

DURATION = Duration.fit(JOBS, family="empirical")


def test_gang_classes_are_the_study_buckets() -> None:
    assert gang_class([1, 2, 3, 4, 5, 8, 9, 128]).tolist() == [0, 1, 1, 1, 2, 2, 3, 3]


def test_gang_sizes_by_hand() -> None:
    sizes = GangSizeDistribution.fit([1, 1, 1, 8])
    assert sizes.pmf(8) == 0.25 and sizes.pmf([1, 2]).tolist() == [0.75, 0]
    assert sizes.cdf([0, 1, 7, 8]).tolist() == [0, 0.75, 0.75, 1]
    np.testing.assert_array_equal(sizes.ppf([0, 0.75, 0.76, 1, np.nan]), [1, 1, 8, 8, np.nan])
    assert sizes.mean() == 2.75
    assert sizes.low[1] < 0.25 < sizes.high[1]
    assert sizes.up_to(4).pmf(1) == 1
    with pytest.raises(ModelError, match="at most 0 GPUs"):
        sizes.up_to(0)


def test_gang_size_intervals_cover() -> None:
    rng = np.random.default_rng(0)
    inside = sum(
        sizes.low[1] <= 0.1 <= sizes.high[1]
        for sizes in (
            GangSizeDistribution.fit(rng.choice([1, 8], 200, p=[0.9, 0.1])) for _ in range(200)
        )
    )
    assert inside >= 180


def test_gang_sizes_by_virtual_cluster() -> None:
    model = GangSize.fit([1, 1, 4, 4], ["a", "a", "b", "b"])
    assert model.of("a").pmf(1) == 1 and model.of("b").pmf(4) == 1 and model.pmf(1) == 0.5
    with pytest.raises(ModelError, match="'c' was observed; there are: a, b"):
        model.of("c")


@pytest.mark.parametrize("gpus", [[], [0, 1], [np.nan]])
def test_impossible_gang_sizes_are_errors(gpus: list[float]) -> None:
    with pytest.raises(ModelError):
        GangSizeDistribution.fit(gpus)


def test_durations_given_gang_virtual_cluster_and_status() -> None:
    model = DURATION
    for vc in ("a", "b"):
        mine = JOBS[(JOBS["vc"] == vc) & (JOBS["gpus"] == 1)]
        assert model(1, vc=vc).median() == pytest.approx(mine["run_s"].median(), rel=0.05)
    assert model(1, vc="b").median() > 5 * model(1, vc="a").median()
    assert model(gpus=3).n == model(gpus=4).n
    assert model(1, status="Failed").n == ((JOBS["gpus"] == 1) & (JOBS["status"] == "Failed")).sum()
    mine = JOBS[(JOBS["gpus"] == 1) & (JOBS["vc"] == "b") & (JOBS["status"] == "Pass")]
    both = model(1, vc="b", status="Pass")
    assert both.n == len(mine)
    assert both.median() == pytest.approx(mine["run_s"].median(), rel=0.1)


def test_sampled_durations_have_the_fitted_marginal_of_each_class() -> None:
    model = DURATION
    gpus, vc = JOBS["gpus"].to_numpy(), JOBS["vc"].to_numpy(str)
    leaf = model.leaf_of(gpus, vc, JOBS["status"].to_numpy(str))
    rng = np.random.default_rng(0)
    run_s = model.sample(stratified_uniforms(rng.random(len(JOBS)), rng, leaf), leaf)
    for i in range(4):
        mine = gang_class(gpus) == i
        assert cdf_gap(run_s[mine], JOBS["run_s"].to_numpy()[mine]) < 0.06
    assert (run_s == np.rint(run_s)).all() and run_s.min() >= 1


def test_a_gang_class_of_one_job_has_the_nearest_distribution() -> None:
    jobs = pd.concat([JOBS[JOBS["gpus"] <= 4], JOBS[JOBS["gpus"] == 16].head(1)])
    model = Duration.fit(jobs, family="empirical")
    nearest = model(gpus=16)
    assert nearest.knots == model(gpus=4).knots
    [contribution] = nearest.contributions
    assert (contribution.condition, contribution.weight) == ("gangs of >8 GPUs", 0.0)
    leaf = model.leaf_of(np.array([16]), np.array(["a"]), np.array(["Pass"]))
    assert model.sample(np.array([0.5]), leaf)[0] > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run_s": 0.0}, "all 3000 run times are zero"),
        ({"run_s": -1.0}, "3000 run times are negative"),
        ({"censored": True}, "0 of 3000 jobs have a known end"),
    ],
)
def test_impossible_durations_are_errors(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Duration.fit(JOBS.assign(**change))
    with pytest.raises(ModelError, match="no jobs"):
        Duration.fit(JOBS.head(0))


def test_zero_durations_are_shorter_than_a_second() -> None:
    jobs = JOBS.assign(run_s=np.where(np.arange(len(JOBS)) % 10 == 0, 0.0, JOBS["run_s"]))
    assert float(Duration.fit(jobs, family="empirical")(1).cdf(0.9)) == pytest.approx(0.1, abs=0.03)


def test_statuses_and_retries() -> None:
    model = Status.fit(JOBS)
    assert model
    assert model.shares(8)["Failed"] == pytest.approx(0.6, abs=0.05)
    assert model.shares(1, "a")["Failed"] == pytest.approx(0.2, abs=0.04)
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


def test_users_have_the_fitted_shares_and_repetition() -> None:
    rng = np.random.default_rng(0)
    fresh = rng.random(5_000) > 0.8
    names = np.array(["ann", "bob", "cyd"])[rng.integers(0, 3, 5_000)][
        np.maximum.accumulate(np.where(fresh, np.arange(5_000), 0))
    ]
    jobs = two_clusters(5_000).assign(user=names, vc="v", submitted_s=np.arange(5_000.0))
    model = Users.fit(jobs)
    assert model.repeat_in_burst == pytest.approx(0.8, abs=0.02)
    _, user, number = model.sample(np.arange(5_000.0), rng)
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
        {"reason": ["oom"] * 6 + ["typo"] * 2, "gpus": [1] * 4 + [8] * 4, "run_s": [60.0] * 8}
    )
    model = Failures.fit(failures)
    assert model
    assert model.shares() == {"oom": 0.75, "typo": 0.25}
    assert model.shares(8) == {"oom": 0.5, "typo": 0.5}
    assert model.time_to_failure("oom").median() == pytest.approx(60)
    with pytest.raises(ModelError, match="too few"):
        model.time_to_failure("typo")
    with pytest.raises(UnknownNameError):
        model.time_to_failure("ooom")
    drawn = model.sample(np.full(2_000, 8), np.random.default_rng(0))
    assert (drawn["reason"] == "oom").mean() == pytest.approx(0.5, abs=0.04)
    assert drawn.loc[drawn["reason"] == "oom", "run_s"].eq(60).all()
    assert Failures.fit(failures.head(0)) is None


def test_locality_by_hand() -> None:
    spreads = pd.DataFrame({"gpus": [8, 8, 16], "servers": [1, 2, 2], "attempts": [3, 1, 5]})
    model = Locality.fit(spreads)
    assert model
    assert model.of(8).pmf([1, 2, 3]).tolist() == [0.75, 0.25, 0]
    assert model.of(8).mean() == 1.25
    assert model.of(64).mean() == 2  # the nearest gang seen
    assert set(model.of(8).rvs(50, 1)) == {1, 2}
    assert Locality.fit(spreads.head(0)) is None


def test_utilisation_by_hand() -> None:
    use = pd.DataFrame(
        {
            "gpus": 8,
            "servers": [1, 1, 2],
            "status": "Pass",
            "bin": [0, 100, 50],
            "minutes": [600.0, 600.0, 1_200.0],
        }
    )
    model = Utilisation.fit(use)
    assert model
    alone = model(8, servers=1, status="Pass")
    assert alone.cdf(0) == 0.5 and alone.cdf(99) == 0.5 and alone.cdf(100) == 1
    assert alone.mean() == pytest.approx(0.5 * 99.5)
    assert model(8, servers=2).mean() == pytest.approx(49.5)
    assert model().mean() == pytest.approx((99.5 + 2 * 49.5) / 4, rel=0.01)
    q = np.linspace(0.51, 0.99, 20)
    np.testing.assert_allclose(alone.cdf(alone.ppf(q)), q, atol=1e-9)
    assert set(np.round(alone.rvs(200, 0)) // 99) <= {0, 1}
    assert Utilisation.fit(use.head(0)) is None


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


def test_other_json_is_an_error() -> None:
    for text in ("{", "[]", "{}", '{"format":1,"nonsense":2}', '{"format":9}'):
        with pytest.raises(ModelError):
            from_json(GangSize, text)


def test_the_family_of_durations_is_chosen_automatically() -> None:
    """Run times are log-normal, so that the chosen family is not rejected."""
    jobs = JOBS[(JOBS["gpus"] == 1) & (JOBS["vc"] == "a")].head(250)
    chosen = Duration.fit(jobs)(1)
    assert chosen.rejected is False
    assert {c.family for c in chosen.candidates} >= {"lognormal", "weibull", "hyperexponential"}
    assert chosen.median() == pytest.approx(jobs["run_s"].median(), rel=0.15)


@pytest.mark.parametrize("known", [True, False])
def test_running_jobs_count_in_samples(known: bool) -> None:
    """A third of the jobs is censored, mostly the long ones, which are killed."""
    rng = np.random.default_rng(5)
    n = 6_000
    killed = rng.random(n) < 0.4
    run_s = rng.exponential(np.where(killed, 200_000.0, 10_000.0)) + 1
    until = rng.uniform(0, 3e5, n)
    censored = run_s > until
    assert 0.2 < censored.mean() < 0.4
    status = np.where(killed, "Killed", "Pass").astype(object)
    if not known:
        status[censored] = None
    cut_s = np.minimum(run_s, until) + 1
    ended = impute_status(frame(np.arange(n, dtype=float), cut_s, status=status, censored=censored))
    assert ended["status"].notna().mean() > 0.99
    assert (ended["status"] == "Killed").mean() == pytest.approx(killed.mean(), abs=0.02)
    model, durations = Status.fit(ended), Duration.fit(ended, family="empirical")
    assert model is not None
    one, none = np.ones(n, int), np.full(n, "")
    drawn = model.sample(rng.random(n), one, none, rng)
    sampled = durations.sample(rng.random(n), durations.leaf_of(one, none, drawn))
    assert sampled.mean() == pytest.approx(run_s.mean(), rel=0.1)
