"""Figure and HTML fragment of a workload model: data against model."""

from html import escape
from itertools import islice

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.distributions import OBSERVED_LEVELS, Distribution, Floats
from philly_analysis.models.parts import Parts
from philly_analysis.models.predictive import predictive_models
from philly_analysis.results import figures
from philly_analysis.study import GANGS

_SAMPLE_DAYS = 56
_PERIODS = 40
_BAND = (0.05, 0.95)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_RUN_S = (1, 3e6)
_GAP_S = (0.5, 86_400)

Distributions = dict[str, Distribution]


def plot(model: Parts) -> Figure:
    """Plot data and model: run times (CDF, QQ, PP), gang sizes, and arrivals likewise.

    Bands contain 90 % of `_PERIODS` periods drawn from the predictive distribution.
    """
    fig, axes = figures.canvas(4, 2, width=13.5, height=6.4)
    drawn: list[Parts] = []
    if model.variation:
        drawn = list(islice(predictive_models(model, model.variation, 0), _PERIODS))
    run_times = _by_gang(model)
    _run_time_cdf(axes[0], run_times, [_by_gang(period) for period in drawn])
    _run_time_qq(axes[1], run_times)
    _run_time_pp(axes[2], run_times)
    _gang_sizes(axes[3], model)
    _rhythm(axes[4], model, drawn)
    gaps = np.diff(model.arrivals.sample(np.random.default_rng(0), days=_SAMPLE_DAYS))
    observed = np.asarray(model.arrivals.gaps_s)
    _gap_cdf(axes[5], observed, gaps)
    _gap_qq(axes[6], observed, gaps)
    _gap_pp(axes[7], observed, gaps)
    fig.suptitle(
        f"{model.name}: lines are the model, points the data"
        + (", bands 90 % of other periods" if drawn else ""),
        fontsize=10,
    )
    return fig


def _by_gang(model: Parts) -> Distributions:
    return {c.gang: c.distribution for c in model.duration.by_gang}


def _levels(distribution: Distribution) -> Floats:
    return np.asarray(OBSERVED_LEVELS[: len(distribution.observed)])


def _run_time_cdf(ax: Axes, run_times: Distributions, others: list[Distributions]) -> None:
    x = np.geomspace(*_RUN_S, 400)
    for gang in figures.ordered(run_times, GANGS):
        fitted, color = run_times[gang], figures.GANG_COLORS[gang]
        ax.plot(x, 100 * fitted.cdf(x), color=color, label=f"{gang} GPU  n={fitted.n:,}")
        if others:
            band = np.quantile([100 * period[gang].cdf(x) for period in others], _BAND, axis=0)
            ax.fill_between(x, *band, color=color, alpha=0.15, linewidth=0)
        ax.plot(fitted.observed[4::5], 100 * _levels(fitted)[4::5], ".", color=color, markersize=5)
    figures.time_axis(ax, *_RUN_S)
    figures.percent_axis(ax, "share of jobs")
    ax.set_xlabel("run time")
    figures.title(ax, "Run time by gang size")
    figures.label_lines(ax)


def _run_time_qq(ax: Axes, run_times: Distributions) -> None:
    for gang in figures.ordered(run_times, GANGS):
        fitted, color = run_times[gang], figures.GANG_COLORS[gang]
        quantiles = fitted.ppf(_levels(fitted))
        ax.plot(fitted.observed, quantiles, ".", color=color, markersize=4, label=f"{gang} GPU")
        if fitted.effective_n and fitted.observed:
            few = slice(9, None, 20)
            low, high = fitted.quantile_interval(_levels(fitted)[few])
            ax.vlines(fitted.observed[few], low, high, color=color, linewidth=1, alpha=0.6)
    _quantile_axes(ax, _RUN_S, "run time")
    figures.title(ax, "Run time, by quantile")


def _run_time_pp(ax: Axes, run_times: Distributions) -> None:
    for gang in figures.ordered(run_times, GANGS):
        fitted, color = run_times[gang], figures.GANG_COLORS[gang]
        model = 100 * fitted.cdf(fitted.observed)
        ax.plot(100 * _levels(fitted), model, ".", color=color, markersize=4)
    _probability_axes(ax)
    figures.title(ax, "Run time, by probability")


def _quantile_axes(ax: Axes, limits: tuple[float, float], noun: str) -> None:
    ax.plot(limits, limits, color=figures.MUTED, linewidth=1, zorder=1)
    figures.time_axis(ax, *limits)
    figures.time_axis(ax, *limits, axis="y")
    ax.set_xlabel(f"{noun}, data")
    ax.set_ylabel(f"{noun}, model")


def _probability_axes(ax: Axes) -> None:
    ax.plot([0, 100], [0, 100], color=figures.MUTED, linewidth=1, zorder=1)
    figures.percent_axis(ax, "cumulative share, data", axis="x")
    figures.percent_axis(ax, "cumulative share, model")


def _gang_sizes(ax: Axes, model: Parts) -> None:
    sizes = model.gang_size.overall
    at = np.arange(len(sizes.sizes))
    share = 100 * np.asarray(sizes.shares)
    error = np.abs(100 * np.asarray([sizes.low, sizes.high]) - share)
    ax.bar(at, share, color=figures.ACCENT, width=0.7)
    ax.errorbar(at, share, yerr=error, fmt="none", color=figures.MUTED, linewidth=1)
    ax.set_xticks(at, [str(s) for s in sizes.sizes], rotation=90 if len(at) > 10 else 0)
    ax.set_yscale("log")
    ax.set_xlabel("gang size, GPUs (whiskers: 95 % intervals)")
    ax.set_ylabel("share of jobs, %")
    figures.title(ax, f"Gang sizes  n={sizes.n:,}")


def _rhythm(ax: Axes, model: Parts, others: list[Parts]) -> None:
    hour, color = np.arange(168), figures.ACCENT
    ax.step(hour, model.arrivals.rate_per_h, where="post", color=color)
    if others:
        low, high = np.quantile([m.arrivals.rate_per_h for m in others], _BAND, axis=0)
        ax.fill_between(hour, low, high, step="post", color=color, alpha=0.15, linewidth=0)
    ax.set_xticks(hour[::24], _DAYS)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("hour of the week, UTC")
    ax.set_ylabel("jobs per hour")
    figures.title(ax, "Weekly rhythm of arrivals")


def _gap_cdf(ax: Axes, observed: Floats, gaps: Floats) -> None:
    levels = np.linspace(0, 100, observed.size)
    least, few = _GAP_S[0], slice(5, 100, 5)
    ax.plot(np.maximum(np.quantile(gaps, levels / 100), least), levels, color=figures.ACCENT)
    points = np.maximum(observed[few], least)
    ax.plot(points, levels[few], ".", color=figures.CYCLE[1], markersize=5)
    figures.time_axis(ax, *_GAP_S)
    figures.percent_axis(ax, "gaps")
    ax.set_xlabel("gap between arrivals (none: at 0.5 s)")
    figures.title(ax, "Inter-arrival times")


def _gap_qq(ax: Axes, observed: Floats, gaps: Floats) -> None:
    quantiles = np.quantile(gaps, np.linspace(0, 1, observed.size))
    points = (np.maximum(v[1:-1], _GAP_S[0]) for v in (observed, quantiles))
    ax.plot(*points, ".", color=figures.ACCENT, markersize=4)
    _quantile_axes(ax, _GAP_S, "gap")
    figures.title(ax, "Inter-arrival times, by quantile")


def _gap_pp(ax: Axes, observed: Floats, gaps: Floats) -> None:
    model = np.searchsorted(np.sort(gaps), observed, side="right") / gaps.size
    data = np.searchsorted(observed, observed, side="right") / observed.size
    ax.plot(100 * data, 100 * model, ".", color=figures.ACCENT, markersize=4)
    _probability_axes(ax)
    figures.title(ax, "Inter-arrival times, by probability")


def html(model: Parts) -> str:
    """Return the numbers of a model, part by part, as an HTML fragment."""
    rows = _described(model)
    body = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
    notes = "".join(f"<li>{escape(s)}</li>" for s in (*model.cannot_know, *model.sources))
    return (
        f"<div><p><b>Workload model {escape(model.name)}</b>: fitted on "
        f"{escape(model.fitted_on)}.</p><table>{body}</table><ul>{notes}</ul></div>"
    )


def _described(model: Parts) -> dict[str, str]:
    arrivals, users, sizes = model.arrivals, model.users, model.gang_size.overall
    unknown = "not known"
    top = sorted(zip(sizes.shares, sizes.sizes, strict=True), reverse=True)[:4]
    shares = ", ".join(f"{size}: {100 * share:.1f} %" for share, size in top)
    clusters = f"{len(users.virtual_clusters)} virtual clusters"
    reasons = model.failures.reasons if model.failures else ()
    statuses = model.status.shares().items() if model.status else ()
    return {
        "jobs per hour": f"{arrivals.mean_per_h:,.1f}",
        "burstiness": f"hourly dispersion {arrivals.dispersion:,.0f} (Poisson: 1), "
        f"autocorrelation {arrivals.autocorrelation[0]:.2f} from hour to hour",
        "gang size": f"mean {model.gang_size.mean():.2f} GPUs, {shares}",
        **{f"run time, {g} GPU": _run_time(d) for g, d in _by_gang(model).items()},
        "users": f"{len(users.by_user):,} in {clusters}; the busiest tenth submit "
        f"{100 * users.top_tenth_share:.0f} % of the jobs"
        if users.named
        else f"{unknown}; {clusters}",
        "statuses": ", ".join(f"{s} {100 * share:.1f} %" for s, share in statuses) or unknown,
        "failures": f"{len(reasons)} reasons, {reasons[0].reason} first" if reasons else unknown,
        "locality": f"{len(model.locality.gangs)} gang sizes" if model.locality else unknown,
        "utilisation": f"mean {model.utilisation().mean():.0f} %" if model.utilisation else unknown,
        "cluster": f"{model.gpus:,} GPUs" if model.gpus else unknown,
        "other periods": _variation(model),
    }


def _run_time(fitted: Distribution) -> str:
    return (
        f"median {fitted.median():,.0f} s, 90 % below {float(fitted.ppf(0.9)):,.0f} s; "
        f"{fitted.family}, {fitted.verdict}, n {fitted.n:,}, censored {fitted.censored:,}"
    )


def _variation(model: Parts) -> str:
    if model.variation is None:
        return "as the fitted one"
    deviations = {
        "all jobs": model.variation.activity_sd,
        "jobs of a gang class and run time": model.variation.class_sd,
        "dispersion of arrivals": model.variation.dispersion_sd,
        "a user's jobs": model.variation.user_sd,
    }
    factors = ", ".join(f"{of} × or ÷ {np.exp(sd.value):.1f}" for of, sd in deviations.items())
    return f"typically {factors} (a standard deviation), as learned on {model.variation.learned_on}"
