"""Figure and HTML fragment of a workload model: data against model."""

from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.distributions import OBSERVED_LEVELS, Distribution
from philly_analysis.models.parts import Parts
from philly_analysis.models.predictive import next_periods
from philly_analysis.results import figures, gang_label
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
    drawn = next_periods(model, _PERIODS)
    _run_times(axes[:3], _by_gang(model), [_by_gang(period) for period in drawn])
    _gang_sizes(axes[3], model)
    _rhythm(axes[4], model, drawn)
    _gaps(axes[5:], model)
    fig.suptitle(
        f"{model.name}: lines are the model, points the data"
        + (", bands 90 % of other periods" if drawn else ""),
        fontsize=10,
    )
    return fig


def _by_gang(model: Parts) -> Distributions:
    return {c.gang: c.distribution for c in model.duration.by_gang}


def plot_run_times(model: Parts, drawn: Sequence[Parts]) -> Figure:
    """Plot run times by gang size, with bands of drawn periods."""
    fig, [ax] = figures.canvas(width=4.6, height=3.4)
    _run_time_curves(ax, _by_gang(model), [_by_gang(period) for period in drawn])
    figures.time_axis(ax, *_RUN_S)
    ax.set_xlabel("run time")
    return fig


def plot_rhythm(model: Parts, drawn: Sequence[Parts]) -> Figure:
    """Plot submissions by hour of the week, with the band of drawn periods."""
    fig, [ax] = figures.canvas(width=4.6, height=3.4)
    _rhythm(ax, model, drawn)
    return fig


def _run_time_curves(ax: Axes, run_times: Distributions, others: Sequence[Distributions]) -> None:
    x = np.geomspace(*_RUN_S, 400)
    for gang in figures.ordered(run_times, GANGS):
        fitted, color = run_times[gang], figures.GANG_COLORS[gang]
        observed = fitted.observed
        levels = np.asarray(OBSERVED_LEVELS[: len(observed)])
        n = f"  n={fitted.n:,}" if fitted.n else ""
        ax.plot(x, 100 * fitted.cdf(x), color=color, label=f"{gang_label(gang)}{n}")
        if others:
            band = np.quantile([100 * period[gang].cdf(x) for period in others], _BAND, axis=0)
            ax.fill_between(x, *band, color=color, alpha=0.15, linewidth=0)
        ax.plot(observed[4::5], 100 * levels[4::5], ".", color=color, markersize=5)
    figures.percent_axis(ax, "share of jobs")
    figures.label_lines(ax)


def _run_times(
    axes: Sequence[Axes], run_times: Distributions, others: Sequence[Distributions]
) -> None:
    cdf, qq, pp = axes
    _run_time_curves(cdf, run_times, others)
    few = slice(9, None, 20)
    for gang in figures.ordered(run_times, GANGS):
        fitted, color = run_times[gang], figures.GANG_COLORS[gang]
        observed = fitted.observed
        levels = np.asarray(OBSERVED_LEVELS[: len(observed)])
        qq.plot(
            observed, fitted.ppf(levels), ".", color=color, markersize=4, label=gang_label(gang)
        )
        if fitted.effective_n and observed:
            low, high = fitted.quantile_interval(levels[few])
            qq.vlines(observed[few], low, high, color=color, linewidth=1, alpha=0.6)
        pp.plot(100 * levels, 100 * fitted.cdf(observed), ".", color=color, markersize=4)
    figures.title(cdf, "Run time by gang size")
    cdf.set_xlabel("run time")
    _scales(axes, _RUN_S, "Run time")


def _scales(axes: Sequence[Axes], limits: tuple[float, float], noun: str) -> None:
    """Label the axes of a CDF, a QQ and a PP plot, and draw the diagonals."""
    cdf, qq, pp = axes
    figures.time_axis(cdf, *limits)
    qq.plot(limits, limits, color=figures.MUTED, linewidth=1, zorder=1)
    figures.time_axis(qq, *limits)
    figures.time_axis(qq, *limits, axis="y")
    qq.set(xlabel=f"{noun.lower()}, data", ylabel=f"{noun.lower()}, model")
    figures.title(qq, f"{noun}, by quantile")
    pp.plot([0, 100], [0, 100], color=figures.MUTED, linewidth=1, zorder=1)
    figures.percent_axis(pp, "cumulative share, data", axis="x")
    figures.percent_axis(pp, "cumulative share, model")
    figures.title(pp, f"{noun}, by probability")


def _gang_sizes(ax: Axes, model: Parts) -> None:
    model.gang_size.plot(ax)
    figures.title(ax, f"Gang sizes  n={model.gang_size.overall.n:,}")


def _rhythm(ax: Axes, model: Parts, others: Sequence[Parts]) -> None:
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


def _gaps(axes: Sequence[Axes], model: Parts) -> None:
    cdf, qq, pp = axes
    drawn = np.diff(model.arrivals.sample(np.random.default_rng(0), days=_SAMPLE_DAYS))
    observed = np.asarray(model.arrivals.gaps_s)
    levels, few, inner = np.linspace(0, 100, observed.size), slice(5, 100, 5), slice(1, -1)
    shown, quantiles = (
        np.maximum(gaps, _GAP_S[0]) for gaps in (observed, np.quantile(drawn, levels / 100))
    )
    cdf.plot(quantiles, levels, color=figures.ACCENT)
    cdf.plot(shown[few], levels[few], ".", color=figures.CYCLE[1], markersize=5)
    qq.plot(shown[inner], quantiles[inner], ".", color=figures.ACCENT, markersize=4)
    reached, fitted = (
        100 * (np.searchsorted(np.sort(gaps), observed, side="right") / gaps.size)
        for gaps in (observed, drawn)
    )
    pp.plot(reached, fitted, ".", color=figures.ACCENT, markersize=4)
    figures.percent_axis(cdf, "gaps")
    figures.title(cdf, "Inter-arrival times")
    cdf.set_xlabel("gap between arrivals (none: at 0.5 s)")
    _scales(axes, _GAP_S, "Inter-arrival time")


def html(model: Parts) -> str:
    """Return the numbers of a model, part by part, as an HTML fragment."""
    rows = _described(model)
    body = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
    notes = "".join(f"<li>{escape(s)}</li>" for s in (*model.cannot_know, *model.sources))
    return (
        f"<div><p><b>Workload model {escape(model.name)}</b>: fitted on "
        f"{escape(model.fitted_on)}; {escape(model.run_time_meaning)}.</p><table>{body}</table>"
        f"<ul>{notes}</ul></div>"
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
        "jobs per hour": f"{arrivals.rate:,.1f}",
        "burstiness": f"hourly dispersion {arrivals.dispersion:,.0f} (Poisson: 1), "
        f"autocorrelation {arrivals.autocorrelation[0]:.2f} from hour to hour",
        "gang size": f"mean {model.gang_size.mean():.2f} GPUs, {shares}",
        **{
            f"run time, {gang} GPU": f"median {d.median():,.0f} s, 90 % below {d.ppf(0.9):,.0f} s; "
            f"{d.family}, {d.verdict}, n {d.n:,}, censored {d.censored:,}"
            for gang, d in _by_gang(model).items()
        },
        "users": f"{len(users.by_user):,} in {clusters}; the busiest tenth submit "
        f"{100 * users.top_tenth_share:.0f} % of the jobs"
        if users.named
        else f"{unknown}; {clusters}",
        "statuses": ", ".join(f"{s} {100 * share:.1f} %" for s, share in statuses) or unknown,
        "failures": f"{len(reasons)} reasons, {reasons[0].reason} first" if reasons else unknown,
        "locality": f"{len(model.locality.gangs)} gang sizes" if model.locality else unknown,
        "utilisation": f"mean {model.utilisation().mean():.0f} %" if model.utilisation else unknown,
        "cluster": f"{model.cluster_gpus:,} GPUs" if model.cluster_gpus else unknown,
        "other periods": _variation(model),
    }


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
    seen = f"; {model.site.sentence}" if model.site else ""
    learned = f"as learned on {model.variation.learned_on}"
    return f"typically {factors} (a standard deviation), {learned}{seen}"
