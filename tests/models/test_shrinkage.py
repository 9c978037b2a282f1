"""Conditional distributions are shrunk by their effective sample size."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as sp

from philly_analysis.distributions.design_effect import effective_size, intracluster_correlation
from philly_analysis.distributions.shrinkage import shift_scores, shrink
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.duration import Duration
from tests.distributions.test_distributions import known
from tests.models.jobs import clustered_scores, frame
from tests.models.test_parts import DURATION


def clustered(rng: np.random.Generator, users: int, each: int, correlation: float) -> pd.DataFrame:
    """Return jobs whose log run times are correlated within users."""
    user = np.repeat(np.arange(users), each)
    run_s = np.exp(6 + clustered_scores(rng, user, correlation))
    at = np.sort(rng.uniform(0, 30 * 86_400, user.size))
    return frame(at, run_s, vc="v", user=[f"u{u}" for u in user])


def test_effective_size_and_correlation_by_hand() -> None:
    assert effective_size([0, 0, 1, 1], 1.0) == 2 and effective_size([0, 0, 1, 1], 0.0) == 4
    assert effective_size([0, 0, 1, 1], 0.5) == pytest.approx(4 / 1.5)
    assert effective_size(np.arange(7), 0.9) == 7
    assert intracluster_correlation([1.0, 1.0, 3.0, 3.0], [0, 0, 1, 1]) == 0.95
    assert intracluster_correlation([1.0, 3.0, 1.0, 3.0], [0, 0, 1, 1]) == 0


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_the_correlation_within_clusters_is_estimated(correlation: float) -> None:
    jobs = clustered(np.random.default_rng(3), 400, 12, correlation)
    user = pd.factorize(jobs["user"])[0]
    estimates = (
        intracluster_correlation(np.log(jobs["run_s"]), user),
        Duration.fit(jobs, family="empirical").correlation,
    )
    assert estimates == pytest.approx((correlation, correlation), abs=0.05)


def test_users_are_shrunk_by_empirical_bayes() -> None:
    """True shifts have a variance of 0.3."""
    jobs = clustered(np.random.default_rng(4), 80, 6, 0.3)
    observed = np.log(jobs["run_s"]).groupby(jobs["user"]).mean()["u3"]
    model = Duration.fit(jobs, family="empirical")
    assert model.user_effects is not None
    assert model.user_effects.effects_variance == pytest.approx(0.3, abs=0.12)
    distribution = model(1, user="u3")
    [contribution] = distribution.contributions
    assert contribution.condition == "user u3" and 0.5 < contribution.weight < 0.9
    pooled, ours = np.log(jobs["run_s"]).mean(), np.log(distribution.median())
    assert min(observed, pooled) < ours < max(observed, pooled)
    # 6 jobs of variance 0.7 and a prior variance of 0.3: a weight of 6 * 0.3 / (6 * 0.3 + 0.7)
    assert (ours - pooled) / (observed - pooled) == pytest.approx(0.72, abs=0.12)
    stranger = model(1, user="nobody")
    assert stranger.contributions[0].weight == 0 and stranger.median() == model(1).median()
    assert model(1, user="u3", hour=4).contributions[1].condition == "hour 4"


def test_virtual_clusters_of_few_jobs_are_shrunk_to_their_gang_class() -> None:
    rng = np.random.default_rng(0)
    parts = [clustered(rng, 40, 20, 0.3).assign(vc=f"v{i}") for i in range(12)]
    for i, part in enumerate(parts):
        part["run_s"] *= np.exp(0.4 * rng.standard_normal())
        part["user"] = f"{i}" + part["user"]
    few = clustered(rng, 2, 12, 0.3).assign(vc="few", user="x")
    few["run_s"] *= 20
    jobs = pd.concat([*parts, few]).sort_values("submitted_s", ignore_index=True)
    model = Duration.fit(jobs, family="empirical")
    assert model(1).median() < model(1, vc="few").median() < few["run_s"].median()
    weights = {vc: model(1, vc=vc).contributions[0].weight for vc in ("few", "v1", "never seen")}
    assert weights["never seen"] == 0 < weights["few"] < weights["v1"] < 1
    assert model(1, vc="never seen").median() == model(1).median()


def test_shrunk_and_shifted_distributions_by_hand() -> None:
    a, b = known("lognormal"), known("gamma")
    x = np.geomspace(10, 1e4, 40)
    mixed = 0.3 * a.cdf(x) + 0.7 * b.cdf(x)
    np.testing.assert_allclose(shrink(a, b, 0.3).cdf(x), mixed, atol=0.005)
    # normal scores of a log-normal are its logarithms, standardised
    moved = sp.lognorm(1.8 * 0.5, scale=np.exp(6 + 1.8 * 0.7))
    np.testing.assert_allclose(shift_scores(a, 0.7, 0.5).cdf(x), moved.cdf(x), atol=0.005)


def test_impossible_conditions_are_errors() -> None:
    with pytest.raises(ModelError, match="the hour must be 0 to 23, not 24"):
        DURATION(1, hour=24)
    with pytest.raises(UnknownNameError, match="Did you mean 'Pass'"):
        DURATION(1, status="Passed")
    with pytest.raises(ModelError, match="a gang has at least one GPU, not 0"):
        DURATION(0)
