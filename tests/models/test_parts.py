from typing import Any

import numpy as np
import pandas as pd
import pytest

from philly_analysis.distributions.stratified import evenly
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.endings import with_endings
from philly_analysis.models.components.failures import Failures
from philly_analysis.models.components.gang_size import Gangs, GangSize
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.users import Users, labelled
from philly_analysis.models.components.utilisation import Utilisation
from philly_analysis.models.persistence import from_json, to_json
from philly_analysis.models.validation.distances import cdf_gap
from philly_analysis.study.terms import gang_class


def jobs(n: int = 3_000, seed: int = 0) -> pd.DataFrame:
    """Jobs of two virtual clusters: b's are ten times longer, and large gangs fail more."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 8, 16], n, p=[0.6, 0.1, 0.1, 0.15, 0.05])
    vc = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    failed = rng.random(n) < np.where(gpus > 4, 0.6, 0.2)
    return pd.DataFrame(
        {
            "submitted_s": np.sort(rng.integers(0, 30 * 86_400, n)).astype(float),
            "vc": vc,
            "user": np.where(rng.random(n) < 0.8, "busy", "idle"),
            "gpus": gpus,
            "status": np.where(failed, "Failed", "Pass"),
            "run_s": np.rint(rng.lognormal(5, 1, n) * np.where(vc == "b", 10, 1)) + 1,
            "censored": rng.random(n) < 0.01,
            "attempts": np.where(failed, rng.integers(1, 4, n), 1),
            "last_share": 0.4,
        }
    )


JOBS = jobs()
DURATION = Duration.fit(JOBS, family="empirical")


def test_gang_classes_are_the_study_buckets() -> None:
    assert gang_class([1, 2, 3, 4, 5, 8, 9, 128]).tolist() == [0, 1, 1, 1, 2, 2, 3, 3]


def test_gang_sizes_by_hand() -> None:
    law = Gangs.fit([1, 1, 1, 8])
    assert law.pmf(8) == 0.25 and law.pmf([1, 2]).tolist() == [0.75, 0]
    assert law.cdf([0, 1, 7, 8]).tolist() == [0, 0.75, 0.75, 1]
    assert law.ppf([0, 0.75, 0.76, 1]).tolist() == [1, 1, 8, 8]
    assert law.mean() == 2.75
    assert law.low[1] < 0.25 < law.high[1]
    assert law.up_to(4).pmf(1) == 1
    with pytest.raises(ModelError, match="at most 0 GPUs"):
        law.up_to(0)


def test_gang_size_intervals_cover() -> None:
    rng = np.random.default_rng(0)
    inside = sum(
        law.low[1] <= 0.1 <= law.high[1]
        for law in (Gangs.fit(rng.choice([1, 8], 200, p=[0.9, 0.1])) for _ in range(200))
    )
    assert inside >= 180


def test_gang_sizes_differ_by_virtual_cluster_and_unknown_ones_are_named() -> None:
    model = GangSize.fit([1, 1, 4, 4], ["a", "a", "b", "b"])
    assert model.of("a").pmf(1) == 1 and model.of("b").pmf(4) == 1 and model.pmf(1) == 0.5
    with pytest.raises(ModelError, match="'c' was seen; there are: a, b"):
        model.of("c")


@pytest.mark.parametrize("gpus", [[], [0, 1], [np.nan]])
def test_impossible_gangs_are_refused(gpus: list[float]) -> None:
    with pytest.raises(ModelError):
        Gangs.fit(gpus)


def test_durations_are_conditional_on_gang_virtual_cluster_and_ending() -> None:
    model = DURATION
    for vc in ("a", "b"):
        mine = JOBS[(JOBS["vc"] == vc) & (JOBS["gpus"] == 1)]
        assert model(1, vc=vc).median() == pytest.approx(mine["run_s"].median(), rel=0.05)
    assert model(1, vc="b").median() > 5 * model(1, vc="a").median()
    assert model(gpus=3).n == model(gpus=4).n
    assert model(1, status="Failed").n == ((JOBS["gpus"] == 1) & (JOBS["status"] == "Failed")).sum()


def test_sampled_durations_have_the_fitted_marginal_of_each_class() -> None:
    model = DURATION
    gpus, vc = JOBS["gpus"].to_numpy(), JOBS["vc"].to_numpy(str)
    leaf = model.leaf_of(gpus, vc, JOBS["status"].to_numpy(str))
    rng = np.random.default_rng(0)
    run_s = model.sample(evenly(rng.random(len(JOBS)), rng, leaf), leaf)
    for i in range(4):
        mine = gang_class(gpus) == i
        assert cdf_gap(run_s[mine], JOBS["run_s"].to_numpy()[mine]) < 0.06
    assert (run_s == np.rint(run_s)).all() and run_s.min() >= 1


def test_a_gang_seen_once_has_no_law_of_its_own_but_can_be_sampled() -> None:
    frame = pd.concat([JOBS[JOBS["gpus"] <= 4], JOBS[JOBS["gpus"] == 16].head(1)])
    model = Duration.fit(frame, family="empirical")
    law = model(gpus=16)  # the nearest class's, and it says so
    assert law.knots == model(gpus=4).knots
    assert [(o.what, o.weight) for o in law.own] == [("gangs of >8 GPUs", 0.0)]
    leaf = model.leaf_of(np.array([16]), np.array(["a"]), np.array(["Pass"]))
    assert model.sample(np.array([0.5]), leaf)[0] > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run_s": 0.0}, "all 3000 run times are zero"),
        ({"run_s": -1.0}, "3000 run times are negative"),
        ({"censored": True}, "all 3000 jobs are censored"),
    ],
)
def test_hopeless_durations_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Duration.fit(JOBS.assign(**change))
    with pytest.raises(ModelError, match="no jobs"):
        Duration.fit(JOBS.head(0))


def test_some_zero_durations_are_shorter_than_a_second() -> None:
    frame = JOBS.assign(run_s=np.where(np.arange(len(JOBS)) % 10 == 0, 0.0, JOBS["run_s"]))
    assert float(Duration.fit(frame, family="empirical")(1).cdf(0.9)) == pytest.approx(
        0.1, abs=0.03
    )


def test_endings_and_retries() -> None:
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


def test_users_keep_their_shares_and_repeat_themselves() -> None:
    rng = np.random.default_rng(0)
    fresh = rng.random(5_000) > 0.8
    who = np.array(["ann", "bob", "cyd"])[rng.integers(0, 3, 5_000)][
        np.maximum.accumulate(np.where(fresh, np.arange(5_000), 0))
    ]
    frame = jobs(5_000).assign(user=who, vc="v", submitted_s=np.arange(5_000.0))
    model = Users.fit(frame)
    assert model.repeat_in_burst == pytest.approx(0.8, abs=0.02)
    _, user, number = model.sample(np.arange(5_000.0), rng)
    again = (number[1:] == number[:-1]).mean()
    assert again == pytest.approx((who[1:] == who[:-1]).mean(), abs=0.03)
    shares = pd.Series(user).value_counts(normalize=True).to_numpy()
    real = pd.Series(who).value_counts(normalize=True).to_numpy()
    np.testing.assert_allclose(shares, real, atol=0.001)


def test_a_user_of_two_virtual_clusters_is_one_user() -> None:
    frame = pd.DataFrame(
        {
            "submitted_s": np.arange(10.0),
            "vc": list("aaaabbbbbb"),
            "user": ["x", "x", "x", "y", "x", "z", "z", "z", "z", "y"],
            "gpus": 1,
            "status": None,
            "run_s": 1.0,
        }
    )
    model = Users.fit(frame)
    # x is at home in a, z in b; y has one job in each, and a comes first
    assert dict(zip(model.names, (c.names for c in model.virtual_clusters), strict=True)) == {
        "b": ("b-u001", "a-u001", "a-u002"),
        "a": ("a-u001", "a-u002"),
    }
    assert model.by_user == pytest.approx({"a-u001": 0.4, "a-u002": 0.2, "b-u001": 0.4})
    assert labelled(frame)["user"].tolist() == [
        *["a-u001"] * 3, "a-u002", "a-u001", *["b-u001"] * 4, "a-u002",
    ]  # fmt: skip
    _, user, _ = model.sample(np.arange(1_000.0), np.random.default_rng(0))
    assert pd.Series(user).value_counts(normalize=True)["a-u001"] == pytest.approx(0.4, abs=0.01)


def test_unknown_users_count_as_their_virtual_cluster() -> None:
    model = Users.fit(JOBS.assign(user=None))
    assert not model.named
    assert sorted(model.names) == ["a", "b"]
    assert all(len(c.user_shares) == 1 for c in model.virtual_clusters)


def test_failures_by_hand() -> None:
    frame = pd.DataFrame(
        {"reason": ["oom"] * 6 + ["typo"] * 2, "gpus": [1] * 4 + [8] * 4, "run_s": [60.0] * 8}
    )
    model = Failures.fit(frame)
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
    assert Failures.fit(frame.head(0)) is None


def test_locality_by_hand() -> None:
    frame = pd.DataFrame({"gpus": [8, 8, 16], "servers": [1, 2, 2], "attempts": [3, 1, 5]})
    model = Locality.fit(frame)
    assert model
    assert model.pmf([1, 2, 3], gpus=8).tolist() == [0.75, 0.25, 0]
    assert model.mean(gpus=8) == 1.25
    assert model.mean(gpus=64) == 2  # the nearest gang seen
    assert set(model.rvs(50, 1, gpus=8)) == {1, 2}
    assert Locality.fit(frame.head(0)) is None


def test_utilisation_by_hand() -> None:
    frame = pd.DataFrame(
        {
            "gpus": 8,
            "servers": [1, 1, 2],
            "status": "Pass",
            "bin": [0, 100, 50],
            "minutes": [600.0, 600.0, 1_200.0],
        }
    )
    model = Utilisation.fit(frame)
    assert model
    alone = model(8, servers=1, status="Pass")
    assert alone.cdf(0) == 0.5 and alone.cdf(99) == 0.5 and alone.cdf(100) == 1
    assert alone.mean() == pytest.approx(0.5 * 99.5)
    assert model(8, servers=2).mean() == pytest.approx(49.5)
    assert model().mean() == pytest.approx((99.5 + 2 * 49.5) / 4, rel=0.01)
    q = np.linspace(0.51, 0.99, 20)
    np.testing.assert_allclose(alone.cdf(alone.ppf(q)), q, atol=1e-9)
    assert set(np.round(alone.rvs(200, 0)) // 99) <= {0, 1}
    assert Utilisation.fit(frame.head(0)) is None


@pytest.mark.parametrize(
    "part",
    [
        GangSize.fit(JOBS["gpus"], JOBS["vc"]),
        Status.fit(JOBS),
        Users.fit(JOBS),
        Locality.fit(pd.DataFrame({"gpus": [8], "servers": [1], "attempts": [3]})),
    ],
    ids=lambda p: type(p).__name__,
)
def test_json_round_trips(part: Any) -> None:
    assert from_json(type(part), to_json(part)) == part


def test_foreign_json_is_refused() -> None:
    for text in ("{", "[]", "{}", '{"format":1,"nonsense":2}', '{"format":9}'):
        with pytest.raises(ModelError):
            from_json(GangSize, text)


def test_durations_choose_a_family_by_themselves() -> None:
    """Log-normal run times of one class: the choice passes, whichever name it bears."""
    frame = JOBS[(JOBS["gpus"] == 1) & (JOBS["vc"] == "a")].head(250)
    law = Duration.fit(frame)(1)
    assert law.rejected is False
    assert {c.family for c in law.candidates} >= {"lognormal", "weibull", "hyperexponential"}
    assert law.median() == pytest.approx(frame["run_s"].median(), rel=0.15)


def test_no_gang_has_a_probability_above_one() -> None:
    law = Gangs.fit([1, 1, 1, 8])
    np.testing.assert_array_equal(law.ppf([0, 0.5, 1, np.nan]), [1, 1, 8, np.nan])
    for ask in (law.ppf, law.isf, law.interval, GangSize.fit([1], [""]).ppf):
        with pytest.raises(ModelError, match=r"of 2 was asked for; it lies between 0 and 1"):
            ask([0.5, 2])


def test_a_virtual_clusters_endings_are_asked_of_the_law_that_samples_them() -> None:
    mine = JOBS[(JOBS["gpus"] == 1) & (JOBS["vc"] == "b") & (JOBS["status"] == "Pass")]
    law = DURATION(1, vc="b", status="Pass")
    assert law.n == len(mine)
    assert law.median() == pytest.approx(mine["run_s"].median(), rel=0.1)


@pytest.mark.parametrize("known", [True, False])
def test_jobs_that_still_run_count_in_samples_too(known: bool) -> None:
    """A third still runs as the log ends: mostly the longer ones, which are killed."""
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
    frame = pd.DataFrame(
        {
            "submitted_s": np.arange(n, dtype=float),
            "gpus": 1,
            "vc": "",
            "user": None,
            "status": status,
            "run_s": np.minimum(run_s, until) + 1,
            "censored": censored,
            "attempts": 1,
        }
    )
    ended = with_endings(frame)
    assert ended["status"].notna().mean() > 0.99
    assert (ended["status"] == "Killed").mean() == pytest.approx(killed.mean(), abs=0.02)
    model, law = Status.fit(ended), Duration.fit(ended, family="empirical")
    assert model is not None
    one, none = np.ones(n, int), np.full(n, "")
    drawn = model.sample(rng.random(n), one, none, rng)
    sampled = law.sample(rng.random(n), law.leaf_of(one, none, drawn))
    assert sampled.mean() == pytest.approx(run_s.mean(), rel=0.1)
