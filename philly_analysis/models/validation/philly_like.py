"""What most papers call Philly-like, beside a model fitted to Philly and Philly's own jobs.

What papers draw differs in details from paper to paper; this is the generator that most of them
share.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.distributions import OBSERVED_LEVELS, Distribution
from philly_analysis.errors import ModelError
from philly_analysis.models.components.duration import ANY
from philly_analysis.models.components.hourly_counts import HourlyCounts
from philly_analysis.models.library import load_model
from philly_analysis.models.validation.distances import cdf_gap
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.results import Fact, Result, figures
from philly_analysis.trace import Trace

QUESTION = "How far from Philly's jobs are those that most papers call Philly-like?"
NEEDS: tuple[str, ...] = ()
"""It asks the shipped models, whatever the trace."""

REAL = "Philly jobs"
SAMPLE_DAYS = 120
_COLUMNS = 3
COLORS = {
    REAL: next(iter(figures.GANG_COLORS.values())),
    "philly": figures.ACCENT,
    "literature": figures.CYCLE[1],
}
ALL = "all"


def compute(trace: Trace) -> Result:
    """Compare the shipped models; the answer is the same on any trace."""
    try:
        return compare()
    except ModelError as error:  # they know the study's gang buckets only
        nothing = pd.DataFrame(columns=["what", "gang", "source", "percentile", "value"])
        return Result(name="philly_like", table=nothing, caveats=(str(error),))


def compare(seed: int = 0) -> Result:
    """Set the shipped models `philly` and `literature` beside what the real jobs showed.

    The real jobs enter by the percentiles that the model `philly` carries, so no data are needed;
    distances of run times are therefore exact to a hundredth.

    Parameters
    ----------
    seed
        Seed of the samples of arrivals.

    Returns
    -------
    Result
        Table of percentiles: what (run time, gap between arrivals, or gang size, whose percentile
        is the share of jobs of at most that size), gang, source, percentile, value (s or GPUs).
    """
    models = {name: load_model(name) for name in ("philly", "literature")}
    real = models["philly"]
    rows: list[tuple[str, str, str, float, float]] = []
    facts: list[Fact] = []
    laws = {name: _laws(model) for name, model in models.items()}
    for gang, philly in laws["philly"].items():
        observed = np.asarray(philly.observed)
        levels = np.asarray(OBSERVED_LEVELS[: observed.size])
        rows += [
            ("run time", gang, REAL, 100 * q, v) for q, v in zip(levels, observed, strict=True)
        ]
        for name in models:
            if gang not in laws[name]:  # the generator draws no such gangs
                continue
            law = laws[name][gang]
            rows += [
                ("run time", gang, name, 100 * q, v)
                for q, v in zip(levels, law.ppf(levels), strict=True)
            ]
            gap = float(np.abs(law.cdf(observed) - levels).max())
            facts.append(
                Fact(
                    f"{name}_run_time_gap_{_word(gang)}",
                    round(gap, 3),
                    f"largest gap between the CDFs of run times, {gang} GPU, {name} and Philly",
                )
            )
    gaps = np.asarray(real.arrivals.gaps_s)
    percent = np.linspace(0, 100, gaps.size)
    rows += [("gap between arrivals", ALL, REAL, p, v) for p, v in zip(percent, gaps, strict=True)]
    sizes = np.asarray(real.gang_size.overall.sizes)
    rows += [("gang size", ALL, REAL, 100 * float(real.gang_size.cdf(g)), g) for g in sizes]
    for name, model in models.items():
        at = model.arrivals.sample(np.random.default_rng(seed), days=SAMPLE_DAYS)
        drawn = np.diff(at)
        rows += [
            ("gap between arrivals", ALL, name, p, v)
            for p, v in zip(percent, np.quantile(drawn, percent / 100), strict=True)
        ]
        rows += [("gang size", ALL, name, 100 * float(model.gang_size.cdf(g)), g) for g in sizes]
        variation = 0.5 * np.abs(model.gang_size.pmf(sizes) - real.gang_size.pmf(sizes)).sum()
        counts = HourlyCounts.of(at)
        facts += [
            Fact(
                f"{name}_gang_size_variation",
                round(float(variation), 3),
                f"total variation between the gang sizes of {name} and Philly",
            ),
            Fact(
                f"{name}_gap_gap",
                round(cdf_gap(np.floor(gaps), drawn), 3),
                f"largest gap between the CDFs of inter-arrival times, {name} and Philly",
            ),
            Fact(
                f"{name}_hourly_dispersion",
                round(counts.dispersion, 1),
                f"variance over mean of the jobs in an hour, {name}",
            ),
            Fact(
                f"{name}_gpu_h_per_job", round(_gpu_h(model, seed), 1), f"GPU hours per job, {name}"
            ),
        ]
    facts.append(
        Fact(
            "real_hourly_dispersion",
            round(real.arrivals.dispersion, 1),
            "variance over mean of the jobs in an hour, Philly",
        )
    )
    facts.append(
        Fact(
            "every_ending_gpu_h_per_job",
            round(_gpu_h(load_model("philly-attempts"), seed), 1),
            "GPU hours per attempt of any ending, Philly",
        )
    )
    told = {f.name: f.value for f in facts}
    return Result(
        name="philly_like",
        table=pd.DataFrame(rows, columns=["what", "gang", "source", "percentile", "value"]),
        facts=tuple(facts),
        sentences=(
            "The generator that most papers call Philly-like draws 1-GPU run times whose CDF is up "
            f"to {told['literature_run_time_gap_1']:.2f} away from Philly's (the fitted model: "
            f"{told['philly_run_time_gap_1']:.2f}), and gang sizes that differ from Philly's in "
            f"{100 * float(str(told['literature_gang_size_variation'])):.0f} % of the jobs.",
            f"Its hours vary as a Poisson process does (dispersion "
            f"{told['literature_hourly_dispersion']:.1f}); Philly's vary "
            f"{told['real_hourly_dispersion']:.0f} times as much as their mean.",
            f"A job of the generator, whatever its ending, holds "
            f"{told['literature_gpu_h_per_job']:.0f} GPU hours on average; one of Philly's passed "
            f"jobs {told['philly_gpu_h_per_job']:.0f}, and an attempt of any ending "
            f"{told['every_ending_gpu_h_per_job']:.0f}.",
        ),
        caveats=(
            f"Philly here: {real.fitted_on}. The generator stands for jobs of every ending: of "
            "those Philly's attempts are known, not whole jobs.",
        ),
    )


def plot(result: Result) -> Figure:
    """Draw run times by gang size, gang sizes, and gaps between arrivals, source by source."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "the shipped models have other gang buckets")
    runs = table[table["what"] == "run time"]
    gangs = list(dict.fromkeys(runs["gang"]))
    rows = -(-(len(gangs) + 2) // _COLUMNS)
    fig, axes = figures.canvas(_COLUMNS, rows, width=10.5, height=3.1 * rows)
    for ax, gang in zip(axes, gangs, strict=False):
        figures.cdf(ax, runs[runs["gang"] == gang], value="value", by="source", colors=COLORS)
        figures.time_axis(ax, 1, 3e6)
        ax.set_xlabel("run time")
        figures.title(ax, f"Run time, {gang} GPU")
    by_size, by_gap, *empty = axes[len(gangs) :]
    for ax in empty:
        ax.remove()
    sizes = table[table["what"] == "gang size"]
    for source, color in COLORS.items():
        mine = sizes[sizes["source"] == source]
        by_size.step(mine["value"], mine["percentile"], where="post", color=color, label=source)
    by_size.set_xscale("log", base=2)
    by_size.set_xticks([2**k for k in range(8)], [str(2**k) for k in range(8)])
    by_size.set_xlabel("gang size, GPUs")
    figures.percent_axis(by_size, "jobs of at most that size")
    figures.title(by_size, "Gang size")
    gaps = table[table["what"] == "gap between arrivals"]
    gaps = gaps.assign(value=gaps["value"].clip(lower=0.5))
    figures.cdf(by_gap, gaps, value="value", by="source", colors=COLORS)
    figures.time_axis(by_gap, 0.5, 86_400)
    by_gap.set_xlabel("gap between arrivals (none: at 0.5 s)")
    figures.title(by_gap, "Arrivals")
    for ax in fig.axes:
        for line in ax.lines:
            if line.get_label() == REAL:  # wide and pale, so that the fitted model shows on it
                line.set(linewidth=5, zorder=1)
    for ax in axes[: len(gangs)]:
        ax.set_ylabel("share of jobs")
    figures.name_lines(axes[: len(gangs)])
    return fig


def _laws(model: WorkloadModel) -> dict[str, Distribution]:
    """Return the law of run times of each gang class that a model knows."""
    return {c.gang: c.law for c in model.duration.cells if (c.vc, c.status) == (ANY, ANY)}


def _gpu_h(model: WorkloadModel, seed: int) -> float:
    work = model.sample(jobs=20_000, seed=seed, variation="none")
    runs = work.attempts
    held_s = (runs["ended_at"] - runs["started_at"]).dt.total_microseconds() / 1e6
    return float((held_s * runs["gpus"]).sum()) / 3_600 / work.jobs.height


def _word(gang: str) -> str:
    return gang.replace("-", "_").replace(">", "over_")
