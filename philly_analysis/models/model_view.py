"""A workload model to look at: data against model, as a figure and as a page fragment."""

from html import escape
from itertools import islice

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis.distributions import OBSERVED_LEVELS, Distribution
from philly_analysis.models.parts import Parts
from philly_analysis.models.predictive import months
from philly_analysis.results import figures
from philly_analysis.study import GANGS

Floats = NDArray[np.float64]

_SAMPLE_DAYS = 56
_MONTHS = 40
_BAND = (0.05, 0.95)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def plot(model: Parts) -> Figure:
    """Draw data against model: run times (CDF, QQ, PP), gang sizes, and arrivals likewise.

    Bands hold 90 % of `_MONTHS` months that might have been.
    """
    fig, axes = figures.canvas(4, 2, width=13.5, height=6.4)
    coming = months(model, model.variation, 0) if model.variation else iter(())
    drawn = list(islice(coming, _MONTHS))
    laws = _laws(model)
    _duration_cdf(axes[0], laws, [_laws(month) for month in drawn])
    _duration_qq(axes[1], laws)
    _duration_pp(axes[2], laws)
    _gangs(axes[3], model)
    _rhythm(axes[4], model, drawn)
    gaps = np.diff(model.arrivals.sample(np.random.default_rng(0), days=_SAMPLE_DAYS))
    _gap_cdf(axes[5], np.asarray(model.arrivals.gaps_s), gaps)
    _gap_qq(axes[6], np.asarray(model.arrivals.gaps_s), gaps)
    _gap_pp(axes[7], np.asarray(model.arrivals.gaps_s), gaps)
    fig.suptitle(
        f"{model.name}: lines are the model, points the data"
        + (", bands 90 % of other months" if drawn else ""),
        fontsize=10,
    )
    return fig


def _laws(model: Parts) -> dict[str, Distribution]:
    return {c.gang: c.law for c in model.duration.cells if (c.vc, c.status) == ("*", "*")}


def _levels(law: Distribution) -> Floats:
    return np.asarray(OBSERVED_LEVELS[: len(law.observed)])


def _duration_cdf(
    ax: Axes, laws: dict[str, Distribution], others: list[dict[str, Distribution]]
) -> None:
    x = np.geomspace(1, 3e6, 400)
    for gang in figures.ordered(laws, GANGS):
        law, color = laws[gang], figures.GANG_COLORS[gang]
        ax.plot(x, 100 * law.cdf(x), color=color, label=f"{gang} GPU  n={law.n:,}")
        if others:
            band = np.quantile([100 * month[gang].cdf(x) for month in others], _BAND, axis=0)
            ax.fill_between(x, *band, color=color, alpha=0.15, linewidth=0)
        ax.plot(law.observed[4::5], 100 * _levels(law)[4::5], ".", color=color, markersize=5)
    figures.time_axis(ax, 1, 3e6)
    figures.percent_axis(ax, "share of jobs")
    ax.set_xlabel("run time")
    figures.title(ax, "Run time by gang size")
    figures.name_lines(ax)


def _duration_qq(ax: Axes, laws: dict[str, Distribution]) -> None:
    ax.plot([1, 3e6], [1, 3e6], color=figures.MUTED, linewidth=1)
    for gang in figures.ordered(laws, GANGS):
        law, color = laws[gang], figures.GANG_COLORS[gang]
        at = law.ppf(_levels(law))
        ax.plot(law.observed, at, ".", color=color, markersize=4, label=f"{gang} GPU")
        if law.worth and law.observed:
            few = slice(9, None, 20)
            low, high = law.quantile_interval(_levels(law)[few])
            ax.vlines(law.observed[few], low, high, color=color, linewidth=1, alpha=0.6)
    figures.time_axis(ax, 1, 3e6)
    figures.time_axis(ax, 1, 3e6, axis="y")
    ax.set_xlabel("run time, data")
    ax.set_ylabel("run time, model")
    figures.title(ax, "Run time, by quantile")


def _duration_pp(ax: Axes, laws: dict[str, Distribution]) -> None:
    ax.plot([0, 100], [0, 100], color=figures.MUTED, linewidth=1)
    for gang in figures.ordered(laws, GANGS):
        law = laws[gang]
        ax.plot(
            100 * _levels(law),
            100 * law.cdf(law.observed),
            ".",
            color=figures.GANG_COLORS[gang],
            markersize=4,
        )
    _probabilities(ax)
    figures.title(ax, "Run time, by probability")


def _probabilities(ax: Axes) -> None:
    figures.percent_axis(ax, "at most that, data", axis="x")
    figures.percent_axis(ax, "at most that, model")


def _gangs(ax: Axes, model: Parts) -> None:
    law = model.gang_size.overall
    at = np.arange(len(law.sizes))
    share = 100 * np.asarray(law.shares)
    error = np.abs(100 * np.asarray([law.low, law.high]) - share)
    ax.bar(at, share, color=figures.ACCENT, width=0.7)
    ax.errorbar(at, share, yerr=error, fmt="none", color=figures.MUTED, linewidth=1)
    ax.set_xticks(at, [str(s) for s in law.sizes], rotation=90 if len(at) > 10 else 0)
    ax.set_yscale("log")
    ax.set_xlabel("gang size, GPUs (whiskers: 95 % intervals)")
    ax.set_ylabel("share of jobs, %")
    figures.title(ax, f"Gang sizes  n={law.n:,}")


def _rhythm(ax: Axes, model: Parts, others: list[Parts]) -> None:
    ax.step(np.arange(168), model.arrivals.rate_per_h, where="post", color=figures.ACCENT)
    if others:
        low, high = np.quantile([m.arrivals.rate_per_h for m in others], _BAND, axis=0)
        ax.fill_between(
            np.arange(168), low, high, step="post", color=figures.ACCENT, alpha=0.15, linewidth=0
        )
    ax.set_xticks(np.arange(0, 168, 24), _DAYS)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("hour of the week, UTC")
    ax.set_ylabel("jobs per hour")
    figures.title(ax, "Weekly rhythm of arrivals")


def _gap_cdf(ax: Axes, observed: Floats, gaps: Floats) -> None:
    levels = np.linspace(0, 100, observed.size)
    ax.plot(np.maximum(np.quantile(gaps, levels / 100), 0.5), levels, color=figures.ACCENT)
    ax.plot(
        np.maximum(observed[5:100:5], 0.5),
        levels[5:100:5],
        ".",
        color=figures.CYCLE[1],
        markersize=5,
    )
    figures.time_axis(ax, 0.5, 86_400)
    figures.percent_axis(ax, "gaps")
    ax.set_xlabel("gap between arrivals (none: at 0.5 s)")
    figures.title(ax, "Inter-arrival times")


def _gap_qq(ax: Axes, observed: Floats, gaps: Floats) -> None:
    inner = slice(1, -1)
    quantiles = np.quantile(gaps, np.linspace(0, 1, observed.size))
    ax.plot([0.5, 86_400], [0.5, 86_400], color=figures.MUTED, linewidth=1)
    ax.plot(
        np.maximum(observed[inner], 0.5),
        np.maximum(quantiles[inner], 0.5),
        ".",
        color=figures.ACCENT,
        markersize=4,
    )
    figures.time_axis(ax, 0.5, 86_400)
    figures.time_axis(ax, 0.5, 86_400, axis="y")
    ax.set_xlabel("gap, data")
    ax.set_ylabel("gap, model")
    figures.title(ax, "Inter-arrival times, by quantile")


def _gap_pp(ax: Axes, observed: Floats, gaps: Floats) -> None:
    ax.plot([0, 100], [0, 100], color=figures.MUTED, linewidth=1)
    below = np.searchsorted(np.sort(gaps), observed, side="right") / gaps.size
    real = np.searchsorted(observed, observed, side="right") / observed.size
    ax.plot(100 * real, 100 * below, ".", color=figures.ACCENT, markersize=4)
    _probabilities(ax)
    figures.title(ax, "Inter-arrival times, by probability")


def html(model: Parts) -> str:
    """Return what the model is, part by part, as an HTML fragment."""
    arrivals, users = model.arrivals, model.users
    rows = [
        ("jobs per hour", f"{arrivals.mean_per_h:,.1f}"),
        (
            "burstiness",
            f"hourly dispersion {arrivals.dispersion:,.0f} (Poisson: 1), autocorrelation "
            f"{arrivals.autocorrelation[0]:.2f} from hour to hour",
        ),
        ("gang size", f"mean {model.gang_size.mean():.2f} GPUs, {_top_gangs(model)}"),
        *(
            (f"run time, {cell.gang} GPU", _law(cell.law))
            for cell in model.duration.cells
            if (cell.vc, cell.status) == ("*", "*")
        ),
        (
            "users",
            f"{len(users.by_user):,} in "
            f"{len(users.virtual_clusters)} virtual clusters; the busiest tenth submit "
            f"{100 * users.top_tenth_share:.0f} % of the jobs"
            if users.named
            else f"not known; {len(users.virtual_clusters)} virtual clusters",
        ),
        ("endings", _endings(model)),
        (
            "failures",
            f"{len(model.failures.reasons)} reasons, {model.failures.reasons[0].reason} first"
            if model.failures
            else "not known",
        ),
        ("locality", f"{len(model.locality.gangs)} gang sizes" if model.locality else "not known"),
        (
            "utilisation",
            f"mean {model.utilisation().mean():.0f} %" if model.utilisation else "not known",
        ),
        ("cluster", f"{model.gpus:,} GPUs" if model.gpus else "not known"),
        ("another month", _another_month(model)),
    ]
    body = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
    unknown = "".join(f"<li>{escape(s)}</li>" for s in (*model.cannot_know, *model.sources))
    return (
        f"<div><p><b>Workload model {escape(model.name)}</b>: fitted on "
        f"{escape(model.fitted_on)}.</p><table>{body}</table><ul>{unknown}</ul></div>"
    )


def _law(law: Distribution) -> str:
    return (
        f"median {law.median():,.0f} s, 90 % below {float(law.ppf(0.9)):,.0f} s; {law.family}, "
        f"{law.verdict}, n {law.n:,}, censored {law.censored:,}"
    )


def _top_gangs(model: Parts) -> str:
    law = model.gang_size.overall
    top = sorted(zip(law.shares, law.sizes, strict=True), reverse=True)[:4]
    return ", ".join(f"{size}: {100 * share:.1f} %" for share, size in top)


def _another_month(model: Parts) -> str:
    if model.variation is None:
        return "is as the fitted one"
    of = {
        "all jobs": model.variation.activity,
        "jobs of a gang class and run time": model.variation.kinds,
        "dispersion of arrivals": model.variation.burstiness,
        "a user's jobs": model.variation.users,
    }
    factors = ", ".join(f"{what} × or ÷ {np.exp(n.value):.1f}" for what, n in of.items())
    return f"typically {factors} (a standard deviation), as learned on {model.variation.learned_on}"


def _endings(model: Parts) -> str:
    if model.status is None:
        return "not known"
    total = np.zeros(3)
    for cell in model.status.cells:
        total += cell.n * np.asarray(cell.shares)
    shares = 100 * total / total.sum()
    return f"Pass {shares[0]:.1f} %, Killed {shares[1]:.1f} %, Failed {shares[2]:.1f} %"
