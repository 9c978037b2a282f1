"""What a law is narrowed down to counts by the independent jobs that were seen of it."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as sp

from philly_analysis.distributions.design_effect import correlation, worth
from philly_analysis.distributions.shrinkage import pooled, shifted
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.duration import Duration
from tests.distributions.test_distributions import known
from tests.models.test_parts import DURATION


def clustered(rng: np.random.Generator, users: int, each: int, alike: float) -> pd.DataFrame:
    """Jobs of users whose log run times share a part: correlated as is said."""
    user = np.repeat(np.arange(users), each)
    own, job = rng.standard_normal(users)[user], rng.standard_normal(user.size)
    return pd.DataFrame(
        {
            "submitted_s": np.sort(rng.uniform(0, 30 * 86_400, user.size)),
            "vc": "v",
            "user": [f"u{u}" for u in user],
            "gpus": 1,
            "status": None,
            "run_s": np.exp(6 + np.sqrt(alike) * own + np.sqrt(1 - alike) * job),
            "censored": False,
        }
    )


def test_what_clusters_are_worth_by_hand() -> None:
    assert worth([0, 0, 1, 1], 1.0) == 2 and worth([0, 0, 1, 1], 0.0) == 4
    assert worth([0, 0, 1, 1], 0.5) == pytest.approx(4 / 1.5)
    assert worth(np.arange(7), 0.9) == 7
    assert correlation([1.0, 1.0, 3.0, 3.0], [0, 0, 1, 1]) == 0.95
    assert correlation([1.0, 3.0, 1.0, 3.0], [0, 0, 1, 1]) == 0


@pytest.mark.parametrize("alike", [0.0, 0.3, 0.6])
def test_correlation_within_clusters_is_found(alike: float) -> None:
    frame = clustered(np.random.default_rng(3), 400, 12, alike)
    of = pd.factorize(frame["user"])[0]
    assert correlation(np.log(frame["run_s"]), of) == pytest.approx(alike, abs=0.05)
    assert Duration.fit(frame, family="empirical").alike == pytest.approx(alike, abs=0.05)


def test_users_are_drawn_towards_all_as_bayes_would() -> None:
    """Of true shifts of variance 0.3, the estimate is nearer than the user's own mean."""
    rng = np.random.default_rng(4)
    frame = clustered(rng, 80, 6, 0.3)
    true = np.log(frame["run_s"]).groupby(frame["user"]).mean()  # what is seen of a user
    model = Duration.fit(frame, family="empirical")
    assert model.users is not None and model.users.apart == pytest.approx(0.3, abs=0.12)
    law = model(1, user="u3")
    assert law.own[0].what == "user u3" and 0.5 < law.own[0].weight < 0.9
    seen, all_, ours = true["u3"], np.log(frame["run_s"]).mean(), np.log(law.median())
    assert min(seen, all_) < ours < max(seen, all_)
    # 6 jobs of variance 0.7 beside a variance of 0.3: a weight of 6 * 0.3 / (6 * 0.3 + 0.7)
    assert (ours - all_) / (seen - all_) == pytest.approx(0.72, abs=0.12)
    stranger = model(1, user="nobody")
    assert stranger.own[0].weight == 0 and stranger.median() == model(1).median()
    assert model(1, user="u3", hour=4).own[1].what == "hour 4"


def test_few_jobs_of_a_virtual_cluster_are_drawn_towards_their_gang_class() -> None:
    rng = np.random.default_rng(0)
    parts = [clustered(rng, 40, 20, 0.3).assign(vc=f"v{i}") for i in range(12)]
    for i, part in enumerate(parts):
        part["run_s"] *= np.exp(0.4 * rng.standard_normal())
        part["user"] = f"{i}" + part["user"]
    few = clustered(rng, 2, 12, 0.3).assign(vc="few", user="x")
    few["run_s"] *= 20
    frame = pd.concat([*parts, few]).sort_values("submitted_s", ignore_index=True)
    model = Duration.fit(frame, family="empirical")
    own = few["run_s"].median()
    assert model(1).median() < model(1, vc="few").median() < own
    weights = {vc: model(1, vc=vc).own[0].weight for vc in ("few", "v1", "never seen")}
    assert weights["never seen"] == 0 < weights["few"] < weights["v1"] < 1
    assert model(1, vc="never seen").median() == model(1).median()


def test_laws_that_are_pooled_and_shifted_by_hand() -> None:
    a, b = known("lognormal"), known("gamma")
    x = np.geomspace(10, 1e4, 40)
    np.testing.assert_allclose(
        pooled(a, b, 0.3).cdf(x), 0.3 * a.cdf(x) + 0.7 * b.cdf(x), atol=0.005
    )
    # normal scores of a log-normal law are its logarithms, standardised
    moved = sp.lognorm(1.8 * 0.5, scale=np.exp(6 + 1.8 * 0.7))
    np.testing.assert_allclose(shifted(a, 0.7, 0.5).cdf(x), moved.cdf(x), atol=0.005)


def test_what_cannot_be_asked_is_named() -> None:
    with pytest.raises(ModelError, match="the hour 24 was asked for; a day has 0 to 23"):
        DURATION(1, hour=24)
    with pytest.raises(UnknownNameError, match="Did you mean 'Pass'"):
        DURATION(1, status="Passed")
    with pytest.raises(ModelError, match="a gang of 0 GPUs"):
        DURATION(0)
