"""Draw what statistics do, on simulated data of known truth."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import StrMethodFormatter

from philly_analysis.results import Rate, clustered_share, figures


def causes() -> Figure:
    """Draw three servers of 8 GPUs in the four states that a waiting gang of 8 can meet."""
    states = (
        ("fair-share delay", "its virtual cluster is at its quota", (8, 4, 0)),
        ("fragmentation: too few GPUs", "5 are free", (8, 6, 5)),
        ("fragmentation: scattered", "8 are free, on two servers", (8, 3, 5)),
        ("start-up, or unknown", "a server is free, within quota", (8, 8, 0)),
    )
    fig, axes = figures.canvas(2, 2, width=6.5, height=3.8)
    for ax, (name, why, used) in zip(axes, states, strict=True):
        for server, busy in enumerate(used):
            for gpu in range(8):
                color = figures.ACCENT if gpu < busy else "white"
                square = Rectangle(
                    (gpu + 0.08, -server + 0.12), 0.84, 0.76, fc=color, ec=figures.MUTED
                )
                ax.add_patch(square)
        figures.title(ax, name)
        ax.set(xlim=(0, 8), ylim=(-2.1, 1.1), xticks=[], yticks=[], xlabel=why)
        ax.grid(visible=False)
        ax.spines[["left", "bottom"]].set_visible(False)
    for ax in axes[::2]:
        ax.set_ylabel("servers")
    return fig


def clusters(repetitions: int = 60) -> Figure:
    """Draw 95 % intervals of a share of jobs, where jobs of one user are alike.

    Each repetition draws 40 users of 1 to 200 jobs; a user's jobs fail with a probability of
    their own, whose mean is 0.3.
    """
    rng = np.random.default_rng(3)
    fig, axes = figures.canvas(2, width=9, height=3.4, sharey=True)
    titles = ("by job", "by user")
    for ax, title, grouped in zip(axes, titles, (False, True), strict=True):
        hits = 0
        for at in range(repetitions):
            sizes = rng.geometric(1 / 50, 40).clip(max=200)
            user = np.repeat(np.arange(40), sizes)
            failed = rng.random(user.size) < rng.beta(0.6, 1.4, 40)[user]
            share = clustered_share(failed, user if grouped else None)
            right = share.low <= 0.3 <= share.high
            hits += right
            color = figures.MUTED if right else figures.CYCLE[4]
            ax.plot([at, at], [100 * share.low, 100 * share.high], color=color, lw=1.4)
        ax.axhline(30, color=figures.INK, lw=0.9)
        figures.title(ax, f"{title}: {hits} of {repetitions} contain the truth")
        ax.set_xlabel("repetition")
    figures.percent_axis(axes[0], "failed jobs, 95 % interval")
    return fig


def censoring() -> Figure:
    """Draw estimates of a run-time distribution from a log that ends while jobs run."""
    rng = np.random.default_rng(1)
    hours = rng.lognormal(2, 1.6, 4_000)
    seen = rng.uniform(0, 72, hours.size)
    ended = hours <= seen
    grid = np.geomspace(0.1, 70, 200)
    times, order = np.minimum(hours, seen), np.argsort(np.minimum(hours, seen))
    at_risk = np.arange(hours.size, 0, -1)
    survival = np.cumprod(1 - ended[order] / at_risk)
    estimates = {
        "truth": np.searchsorted(np.sort(hours), grid) / hours.size,
        "Kaplan-Meier": 1 - np.r_[1, survival][np.searchsorted(times[order], grid)],
        "running jobs dropped": np.searchsorted(np.sort(hours[ended]), grid) / ended.sum(),
    }
    fig, [ax] = figures.canvas(width=6.5, height=3.4)
    for (name, share), color in zip(estimates.items(), figures.CYCLE, strict=False):
        ax.plot(grid, 100 * share, label=name, color=color)
    _log_axis(ax, "run time (hours)")
    figures.percent_axis(ax, "share of jobs")
    figures.legend(ax)
    return fig


def shrinkage() -> Figure:
    """Draw how the weight of a class's own jobs grows with their number."""
    fig, [ax] = figures.canvas(width=6.5, height=3)
    n = np.geomspace(1, 10_000, 200)
    for strength, color in zip((10, 100, 1_000), figures.CYCLE, strict=False):
        ax.plot(n, 100 * n / (n + strength), color=color, label=f"ν = {strength:,}")
    _log_axis(ax, "effective number of jobs in the class")
    figures.percent_axis(ax, "weight of its own jobs")
    figures.label_lines(ax)
    return fig


def rates(months: float = 100) -> Figure:
    """Draw the exact interval of a failure rate against the number of failures in these months."""
    fig, [ax] = figures.canvas(width=6.5, height=3)
    for events in range(13):
        rate = Rate(events, months)
        ax.plot([events, events], rate.interval, color=figures.MUTED, lw=3)
        if events:
            ax.plot(events, rate.per_unit, "o", color=figures.ACCENT, ms=5)
    ax.set(xlabel="failures", ylabel="failures per server month")
    ax.set_ylim(bottom=0)
    return fig


def percentiles(n: int = 150, share: float = 0.9) -> Figure:
    """Draw how the interval of a percentile follows from the interval of a share of the jobs."""
    rng = np.random.default_rng(4)
    hours = np.sort(rng.lognormal(1, 1.5, n))
    half = 1.96 * np.sqrt(share * (1 - share) / n)
    ends = np.quantile(hours, [share - half, share + half])
    fig, [ax] = figures.canvas(width=6.5, height=3)
    ax.step(hours, 100 * np.arange(1, n + 1) / n, where="post", color=figures.ACCENT)
    ax.axhspan(100 * (share - half), 100 * (share + half), color=figures.CYCLE[1], alpha=0.25)
    ax.axvspan(*ends, color=figures.CYCLE[2], alpha=0.25)
    ax.plot(np.quantile(hours, share), 100 * share, "o", color=figures.INK, ms=5)
    _log_axis(ax, "run time (hours)")
    figures.percent_axis(ax, "share of jobs")
    return fig


def verdicts() -> Figure:
    """Draw an interval for each verdict, beside a threshold of 1 and a margin around no effect."""
    cases = {
        "holds": (1.9, 1.3, 2.8, figures.CYCLE[0]),
        "cannot be said": (1.3, 0.8, 2.1, figures.MUTED),
        "is practically absent": (1.02, 0.93, 1.1, figures.CYCLE[2]),
        "is reversed": (0.6, 0.45, 0.8, figures.CYCLE[1]),
    }
    fig, [ax] = figures.canvas(width=6.5, height=2.2)
    ax.axvspan(1 / 1.15, 1.15, color=figures.MUTED, alpha=0.25)
    ax.axvline(1, color=figures.INK, lw=0.9)
    for y, (effect, low, high, color) in enumerate(cases.values()):
        ax.plot([low, high], [y, y], color=color, lw=3)
        ax.plot(effect, y, "o", color=color, ms=7)
    ax.set_yticks(range(len(cases)), list(cases))
    ax.set_ylim(len(cases) - 0.5, -0.5)
    _log_axis(ax, "waits of large gangs, in multiples of waits of small gangs")
    ax.set_xticks([0.5, 1, 2, 3])
    ax.minorticks_off()
    return fig


def _log_axis(ax: Axes, label: str) -> None:
    ax.set(xscale="log", xlabel=label)
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
