"""Run times by job class, shrunk by their effective sample size."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as sp

from philly_analysis.distributions.design_effect import effective_size, intracluster_correlation
from philly_analysis.distributions.shrinkage import shift_scores, shrink
from philly_analysis.distributions.stratified import stratified_uniforms
from philly_analysis.errors import UnknownNameError
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.status_imputation import impute_status
from philly_analysis.models.library import load_model
from philly_analysis.models.validation.distances import cdf_gap
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.study.terms import gang_class
from tests.distributions.test_distributions import known
from tests.models.jobs import JOBS, clustered_scores, frame, observed

DURATION = Duration.fit(JOBS, family="empirical")


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
    assert intracluster_correlation([1.0, 1.0, 3.0, 3.0], [0, 0, 2, 2]) == 0.95  # 1 is empty
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
    for conditions in ({"user": "nobody"}, {"vc": "never seen"}, {"status": "Passed"}):
        for gpus in (None, 1):
            with pytest.raises(UnknownNameError, match=r"no .* named"):
                model(gpus, **conditions)  # type: ignore[call-overload]
    assert model(1, user="u3", hour=4).contributions[1].condition == "hour 4"


def test_virtual_clusters_of_few_jobs_are_shrunk_to_their_gang_class() -> None:
    rng = np.random.default_rng(0)
    parts = [clustered(rng, 40, 20, 0.3).assign(vc=f"v{i}") for i in range(12)]
    for i, part in enumerate(parts):
        part["run_s"] *= np.exp(0.4 * rng.standard_normal())
        part["user"] = f"{i}" + part["user"]
    few = clustered(rng, 2, 12, 0.3).assign(vc="few", user="x")
    few["run_s"] *= 20
    model, alike = (
        Duration.fit(some.sort_values("submitted_s", ignore_index=True), family="empirical")
        for some in (pd.concat([*parts, few]), pd.concat(parts))
    )
    # normal shifts of 0.4 change the CDF by 7 % of p (1 - p), squared: 1 / 0.07 - 1
    assert alike.prior_size == pytest.approx(13, rel=0.5) and model.prior_size < alike.prior_size
    assert model(1).median() < model(1, vc="few").median() < few["run_s"].median()
    weights = {vc: model(1, vc=vc).contributions[0].weight for vc in ("few", "v1")}
    assert 0 < weights["few"] < weights["v1"] < 1


def test_shrunk_and_shifted_distributions_by_hand() -> None:
    a, b = known("lognormal"), known("gamma")
    x = np.geomspace(10, 1e4, 40)
    mixed = 0.3 * a.cdf(x) + 0.7 * b.cdf(x)
    np.testing.assert_allclose(shrink(a, b, 0.3).cdf(x), mixed, atol=0.005)
    # normal scores of a log-normal are its logarithms, standardised
    moved = sp.lognorm(1.8 * 0.5, scale=np.exp(6 + 1.8 * 0.7))
    np.testing.assert_allclose(shift_scores(a, 0.7, 0.5).cdf(x), moved.cdf(x), atol=0.005)


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


def test_gang_classes_that_no_jobs_were_fitted_to_weigh_alike() -> None:
    durations = load_model("literature").duration
    classes = [cell.distribution for cell in durations.by_gang]
    assert not any(d.n for d in classes)
    assert durations.cdf(3600) == pytest.approx(np.mean([d.cdf(3600) for d in classes]))
    assert repr(durations).startswith("Duration(")


def test_zero_durations_are_shorter_than_a_second() -> None:
    jobs = JOBS.assign(run_s=np.where(np.arange(len(JOBS)) % 10 == 0, 0.0, JOBS["run_s"]))
    assert float(Duration.fit(jobs, family="empirical")(1).cdf(0.9)) == pytest.approx(0.1, abs=0.03)


def test_the_family_of_durations_is_chosen_automatically() -> None:
    """Run times are log-normal, so that the chosen family is not rejected."""
    jobs = JOBS[(JOBS["gpus"] == 1) & (JOBS["vc"] == "a")].head(250)
    chosen = Duration.fit(jobs)(1)
    assert chosen.rejected is False
    assert {c.family for c in chosen.candidates} >= {"lognormal", "weibull", "hyperexponential"}
    assert chosen.median() == pytest.approx(jobs["run_s"].median(), rel=0.15)


@pytest.mark.parametrize(
    ("vc", "status", "n", "cell", "leaf"),
    [
        ("*", "Killed", 19, False, False),
        ("*", "Killed", 20, True, False),
        ("*", "Killed", 59, True, False),
        ("*", "Killed", 60, True, True),
        ("c", "*", 199, True, False),
        ("c", "*", 200, True, True),
    ],
)
def test_classes_of_enough_jobs_have_a_distribution_of_their_own(
    vc: str, status: str, n: int, cell: bool, leaf: bool
) -> None:
    few = np.arange(600) < n
    jobs = frame(
        np.arange(600.0) * 60,
        np.random.default_rng(0).lognormal(5, 1, 600),
        vc=np.where(few & (vc != "*"), vc, "a"),
        status=np.where(few & (status != "*"), status, "Pass"),
    )
    model = Duration.fit(jobs, family="empirical")
    assert ((vc, status) in {(c.vc, c.status) for c in model.cells}) == cell
    assert any(c.vc == vc != "*" or c.status == status != "*" for c in model.leaves) == leaf
    assert sum(c.distribution.n for c in model.leaves) == 600


@pytest.mark.parametrize("known", [True, False])
def test_running_jobs_count_in_samples(known: bool) -> None:
    """A third of the jobs is censored, mostly the long ones, which are killed."""
    rng = np.random.default_rng(5)
    user = np.repeat(np.arange(300), 20)
    killed = rng.random(user.size) < 0.3
    run_s = np.exp(8 + clustered_scores(rng, user, 0.3) + 1.5 * killed)
    until = rng.exponential(np.exp(9.9), user.size)  # the log ends
    censored = run_s > until
    assert 0.25 < censored.mean() < 0.35
    status = np.where(killed, "Killed", "Pass").astype(object)
    if not known:
        status[censored] = None
    jobs = frame(
        np.sort(rng.uniform(0, 28 * 86_400, user.size)),
        np.rint(np.minimum(run_s, until)) + 1,
        user=user,
        status=status,
        censored=censored,
    )
    shuffled = rng.permutation(user.size)  # users are active at all times
    jobs = jobs.iloc[shuffled].assign(submitted_s=jobs["submitted_s"].to_numpy())
    ended = impute_status(jobs)
    assert ended["status"].notna().mean() > 0.99
    assert (ended["status"] == "Killed").mean() == pytest.approx(killed.mean(), abs=0.02)
    work = WorkloadModel.fit(observed(jobs), family="empirical").sample(
        jobs=20_000, seed=1, variation="none"
    )
    sampled = (
        (work.attempts.pl()["ended_at"] - work.attempts.pl()["started_at"]).dt.total_seconds().sum()
    )
    assert sampled / 20_000 == pytest.approx(run_s.mean(), rel=0.1)
