"""Fitted distributions: properties, fits, goodness of fit."""

import numpy as np
import pytest
import scipy.stats as sp
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.distributions.distribution import EMPIRICAL, Distribution, Parameter
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.fitting import fit_distribution
from philly_analysis.distributions.goodness import _simulate, ks_distance
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.persistence import from_json, to_json

TRUE = {
    "exponential": (300.0,),
    "weibull": (0.6, 900.0),
    "lognormal": (6.0, 1.8),
    "gamma": (0.5, 2_000.0),
    "lomax": (1.6, 500.0),
    "pareto": (1.4, 60.0),
    "hyperexponential": (0.6, 20.0, 0.4, 4_000.0),
    "lognormal_mixture": (0.5, 3.5, 0.5, 0.5, 8.0, 1.0),
}


def known(family: str) -> Distribution:
    values = TRUE[family]
    labels = FAMILIES[family].labels(len(values))
    return Distribution(family, tuple(map(Parameter, labels, values)))


def empirical() -> Distribution:
    return fit_distribution(np.random.default_rng(3).lognormal(5, 2, 3_000), family=EMPIRICAL)


ALL = {name: known(name) for name in TRUE} | {EMPIRICAL: empirical()}


def test_every_family_is_tested() -> None:
    assert set(ALL) == {*FAMILIES, EMPIRICAL}


@pytest.mark.parametrize("distribution", ALL.values(), ids=ALL)
class TestDistributions:
    def test_cdf_rises_from_zero_to_one(self, distribution: Distribution) -> None:
        x = np.geomspace(1e-6, 1e12, 500)
        p = distribution.cdf(x)
        assert (np.diff(p) >= -1e-12).all()
        assert distribution.cdf(-1.0) == 0 and distribution.cdf(0.0) == pytest.approx(0, abs=1e-9)
        assert p[-1] == pytest.approx(1, abs=1e-3)
        np.testing.assert_allclose(distribution.sf(x), 1 - p, atol=1e-12)

    def test_ppf_inverts_cdf(self, distribution: Distribution) -> None:
        q = np.linspace(0.001, 0.999, 401)
        np.testing.assert_allclose(distribution.cdf(distribution.ppf(q)), q, atol=1e-9)

    def test_density_is_the_slope_of_the_cdf(self, distribution: Distribution) -> None:
        low, high = distribution.ppf([0.05, 0.95])
        x = np.geomspace(low, high, 400_001)
        middle = np.sqrt(x[1:] * x[:-1])
        mass = float((distribution.pdf(middle) * np.diff(x)).sum())
        assert mass == pytest.approx(0.9, abs=2e-3)

    def test_a_seed_determines_draws_from_the_distribution(
        self, distribution: Distribution
    ) -> None:
        draw = distribution.rvs(4_000, 7)
        assert (draw == distribution.rvs(4_000, 7)).all()
        assert (draw != distribution.rvs(4_000, 8)).any()
        assert sp.kstest(distribution.cdf(draw), "uniform").statistic < 1.63 / np.sqrt(draw.size)

    def test_json_round_trip(self, distribution: Distribution) -> None:
        assert from_json(Distribution, to_json(distribution)) == distribution


@pytest.mark.parametrize("family", TRUE)
def test_a_refit_has_the_true_parameters_within_intervals(family: str) -> None:
    """Within three times the half-width, as 15 intervals of 95 % would not all cover by chance."""
    again = fit_distribution(known(family).rvs(4_000, 11), family=family)
    if family == "hyperexponential" or family == "lognormal_mixture":
        assert len(again.parameters) >= len(TRUE[family])
        x = known(family).ppf(np.linspace(0.01, 0.99, 99))
        np.testing.assert_allclose(again.cdf(x), known(family).cdf(x), atol=0.03)
        return
    for parameter, true in zip(again.parameters, TRUE[family], strict=True):
        low, high = parameter.low, parameter.high
        assert low is not None and high is not None
        assert low - (high - low) <= true <= high + (high - low), parameter
        assert low <= parameter.value <= high


@pytest.mark.slow
def test_intervals_have_nominal_coverage() -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(40):
        fitted = fit_distribution(rng.weibull(0.7, 200) * 50, family="weibull")
        shape, _ = fitted.parameters
        assert shape.low is not None and shape.high is not None
        inside += shape.low <= 0.7 <= shape.high
    assert 34 <= inside <= 40  # binomial(40, 0.95) is below 34 once in 130 times


def test_intervals_of_few_clusters_are_those_of_their_means() -> None:
    rng, cluster = np.random.default_rng(7), np.repeat(np.arange(6), 50)
    logs = rng.standard_normal(300) + 0.35 * rng.standard_normal(6)[cluster]
    mu, _ = fit_distribution(np.exp(logs), family="lognormal", cluster=cluster).parameters
    means = logs.reshape(6, 50).mean(axis=1)
    low, high = sp.t.interval(0.95, 5, means.mean(), sp.sem(means))
    assert (mu.low, mu.high) == pytest.approx((low, high), rel=0.03)


@pytest.mark.parametrize("family", ["weibull", "gamma", "lomax", "exponential", "lognormal"])
@pytest.mark.parametrize("cut", [False, True])
def test_fits_are_those_of_scipy_on_censored_data(family: str, cut: bool) -> None:
    scipy_names = {"weibull": "weibull_min", "exponential": "expon", "lognormal": "lognorm"}
    rng = np.random.default_rng(2)
    x = rng.lognormal(7, 1.5, 800)
    limit = rng.lognormal(8, 1, 800) if cut else np.full(800, np.inf)
    seen, late = np.minimum(x, limit), x > limit
    ours = [p.value for p in fit_distribution(seen, late, family=family).parameters]
    data = sp.CensoredData(seen[~late], right=seen[late])
    theirs = [v for v in getattr(sp, scipy_names.get(family, family)).fit(data, floc=0) if v != 0]
    if family == "lognormal":  # SciPy's parameters are sigma and exp(mu)
        theirs = [np.log(theirs[1]), theirs[0]]
    np.testing.assert_allclose(ours, theirs, rtol=2e-3)


@pytest.mark.parametrize(
    "family",
    [
        "lognormal",
        "weibull",
        "exponential",
        pytest.param("lognormal_mixture", marks=pytest.mark.slow),
        EMPIRICAL,
    ],
)
def test_fits_with_censoring_have_the_true_median(family: str) -> None:
    rng = np.random.default_rng(1)
    true = {"weibull": sp.weibull_min(0.7, scale=500), "exponential": sp.expon(scale=500)}.get(
        family, sp.lognorm(1.2, scale=500)
    )
    x = true.rvs(4_000, random_state=rng)
    limit = rng.uniform(100, 1_500, x.size)
    seen, late = np.minimum(x, limit), x > limit
    assert 0.2 < late.mean() < 0.7
    median = float(true.median())
    aware = fit_distribution(seen, late, family=family).median()
    ignored = fit_distribution(seen, family=family).median()
    dropped = fit_distribution(seen[~late], family=family).median()
    assert aware == pytest.approx(median, rel=0.08)
    assert ignored < 0.88 * median and dropped < 0.85 * median


def test_kaplan_meier_by_hand() -> None:
    """Ends at 1, 3, 4; cut at 2: survival 3/4, then 3/4 x 1/2, then 0."""
    sample = Lifetimes.of([1, 2, 3, 4], [False, True, False, False])
    x, before, at = sample.ecdf()
    assert x.tolist() == [1, 3, 4]
    np.testing.assert_allclose(at, [0.25, 1 - 0.375, 1])
    np.testing.assert_allclose(before, [0, 0.25, 1 - 0.375])


def test_a_simulated_sample_has_at_least_two_uncensored_values() -> None:
    like = Lifetimes.of([1, 2, 300, 400], [True, True, False, False])
    rng = np.random.default_rng(0)
    drawn = [_simulate(known("lognormal").frozen(), like, rng) for _ in range(100)]
    assert {x and x.ended.size for x in drawn} == {None, 2, 3, 4}


@pytest.mark.parametrize(
    "family", ["exponential", "weibull", "lognormal", "gamma", "hyperexponential"]
)
def test_a_wrong_family_is_rejected_and_the_true_one_is_not(family: str) -> None:
    x = known(family).rvs(600, 21)
    assert not fit_distribution(x, family=family, seed=1).rejected
    wrong = "gamma" if family == "lognormal" else "pareto"
    assert fit_distribution(x, family=wrong).rejected


@pytest.mark.slow
def test_the_true_family_is_rejected_with_the_nominal_probability() -> None:
    rng = np.random.default_rng(9)
    rejected = sum(
        bool(fit_distribution(rng.lognormal(5, 2, 150), family="lognormal", seed=i).rejected)
        for i in range(40)
    )
    assert rejected <= 7  # binomial(40, 0.05) exceeds 7 once in 800 times


def test_without_a_fitting_family_the_empirical_distribution_is_used() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate((np.full(3_000, 86_400.0), rng.uniform(1, 100, 3_000)))
    fitted = fit_distribution(x)
    assert fitted.family == EMPIRICAL
    assert fitted.candidates and all(c.rejected for c in fitted.candidates)
    assert [c.aic for c in fitted.candidates] == sorted(c.aic for c in fitted.candidates)
    assert fitted.ks is not None and fitted.ks < 0.01
    assert "every family rejected" in fitted.verdict
    assert float(fitted.cdf(86_399)) == pytest.approx(0.5, abs=0.01)


def test_the_empirical_tail_exceeds_the_largest_value() -> None:
    x = sp.pareto(1.5).rvs(2_000, random_state=1)
    fitted = fit_distribution(x, family=EMPIRICAL)
    assert float(fitted.ppf(0.9999)) > float(np.quantile(x, 0.99))
    assert np.isfinite(fitted.mean())
    _, shape, _ = fitted.parameters
    assert shape.value == pytest.approx(1 / 1.5, abs=0.5)
    # Smith 1987, of the hundred values above the threshold
    assert shape.low is not None and shape.high is not None
    assert (shape.low + shape.high) / 2 == pytest.approx(shape.value)
    half = 1.96 * (1 + shape.value) / 100**0.5
    assert (shape.high - shape.low) / 2 == pytest.approx(half, rel=0.02)


@pytest.mark.parametrize("shape", [-0.1, 0.1, 0.4])
@pytest.mark.parametrize(("running", "step"), [(0.0, 1e-3), (0.2, 1e-3), (0.0, 60)])
def test_the_empirical_tail_has_the_shape_of_scipy_and_the_mean_of_the_data(
    shape: float, running: float, step: float
) -> None:
    rng = np.random.default_rng(5)
    values = 1_000 + sp.genpareto.rvs(shape, scale=300, size=2_000, random_state=rng)
    values = np.ceil(values / step) * step  # in coarse steps some equal the last knot
    censored = rng.random(values.size) < running
    distribution = fit_distribution(values, censored, family=EMPIRICAL)
    # the tail has a hundred values
    [threshold] = Lifetimes.of(values, censored, "values").quantiles([0.95])[0]
    over = values > threshold
    excess, late = values[over] - threshold, censored[over]
    expected, _, _ = sp.genpareto.fit(
        sp.CensoredData(excess[~late], right=excess[late]), 0.1, floc=0, scale=excess.mean()
    )
    _, fitted, scale = (p.value for p in distribution.parameters)
    assert fitted == pytest.approx(expected, abs=1e-6)
    if not running:
        assert distribution.mean() == pytest.approx(values.mean(), rel=1e-6)
        return
    # the mean excess over the last knot is the total excess over the ends
    over = values > distribution.knots[-1]
    mean = (values[over] - distribution.knots[-1]).sum() / (~censored[over]).sum()
    assert sp.genpareto.mean(fitted, scale=scale) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("values", "censored", "words"),
    [
        ([], None, "no values"),
        ([5.0], None, "1 of 1 values are uncensored"),
        ([1.0, 2.0, 3.0], [True, True, True], "0 of 3 values are uncensored"),
        ([1.0, 0.0, 2.0], None, "zero or negative"),
        ([1.0, np.nan], None, "missing or infinite"),
        ([1.0, 2.0], [True], "censoring flags"),
    ],
)
def test_impossible_samples_are_errors(
    values: list[float], censored: list[bool] | None, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        fit_distribution(values, censored)


def test_an_unknown_family_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lognormal'"):
        fit_distribution([1.0, 2.0, 3.0], family="lognorml")


def test_one_repeated_value_has_an_empirical_distribution() -> None:
    fitted = fit_distribution(np.full(50, 60.0))
    assert fitted.family == EMPIRICAL
    np.testing.assert_allclose(fitted.ppf([0.1, 0.5, 0.8]), 60, rtol=1e-6)


@given(
    st.lists(st.floats(0.5, 1e7), min_size=5, max_size=60),
    st.integers(0, 2**20),
)
def test_the_empirical_distribution_of_any_sample_is_valid(values: list[float], seed: int) -> None:
    late = np.random.default_rng(seed).random(len(values)) < 0.3
    late[:2] = False
    fitted = fit_distribution(values, late, family=EMPIRICAL)
    p = fitted.cdf(np.geomspace(0.1, 1e9, 200))
    assert (np.diff(p) >= -1e-12).all() and p[0] == 0
    q = np.linspace(0.01, 0.99, 33)
    x = fitted.ppf(q)
    assert (np.diff(x) >= 0).all() and np.isfinite(x).all()
    assert from_json(Distribution, to_json(fitted)) == fitted


def test_the_score_of_a_censored_value_is_that_expected_beyond_it() -> None:
    """Two of three values end; the last third of a normal distribution is above its quantile."""
    scores = Lifetimes.of([1, 2, 3], [False, False, True]).scores()
    last = sp.truncnorm.mean(sp.norm.ppf(2 / 3), np.inf)
    assert scores == pytest.approx([sp.norm.ppf(1 / 6), 0, last])


def test_few_values_at_risk_do_not_count_in_the_distance() -> None:
    """Of 30 values 10 end in steps of 1, 19 are censored then, and one ends much later."""
    sample = Lifetimes.of([*range(1, 11), *[10.5] * 19, 1000], [*[False] * 10, *[True] * 19, False])
    exponential = Distribution("exponential", (Parameter("mean_s", 30.0),))
    rises = [(i - 1, i) for i in range(1, 11)]
    gaps = [abs(n / 30 - (1 - np.exp(-up / 30))) for down, up in rises for n in (down, up)]
    assert ks_distance(exponential, sample) == pytest.approx(max(gaps))
