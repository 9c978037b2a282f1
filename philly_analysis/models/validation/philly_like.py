"""The generator of "Philly-like" jobs, compared with a fitted model and Philly's own jobs.

Papers differ in details. The compared generator is the generator that most papers share: Gavel's
(OSDI 2020).
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.distributions import OBSERVED_LEVELS
from philly_analysis.errors import ModelError
from philly_analysis.models.components.hourly_counts import HourlyCounts
from philly_analysis.models.library import load_model
from philly_analysis.models.sampling import draw_jobs
from philly_analysis.models.validation.distances import cdf_gap
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.results import Fact, Result, figures
from philly_analysis.trace import Analysis, Trace

REAL = "Philly jobs"
SAMPLE_DAYS = 120
_FIGURE_COLUMNS = 3
COLORS = {
    REAL: next(iter(figures.GANG_COLORS.values())),
    "philly": figures.ACCENT,
    "literature": figures.CYCLE[1],
}
ALL = "all"
_COLUMNS = ["what", "gang", "source", "percentile", "value"]


def compute(trace: Trace) -> Result:
    """Compare the shipped models; the result is the same for any trace."""
    try:
        return compare()
    except ModelError as error:  # shipped models have the study's gang buckets
        return Result("philly_like", pd.DataFrame(columns=_COLUMNS), caveats=(str(error),))


def compare(seed: int = 0) -> Result:
    """Compare the shipped models `philly` and `literature` with the real jobs.

    The real jobs are the percentiles in the model `philly`, so distances of run times are exact to
    a hundredth.

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
    comparison = _Comparison(models)
    comparison.compare_run_times()
    comparison.compare_arrivals_and_sizes(seed)
    every = _gpu_h(load_model("philly-attempts"), seed)
    comparison.fact(
        "every_ending_gpu_h_per_job", every, 1, "GPU hours per attempt of any status, Philly"
    )
    return Result(
        name="philly_like",
        table=pd.concat(comparison.tables, ignore_index=True),
        facts=tuple(comparison.facts),
        sentences=_sentences({f.name: float(str(f.value)) for f in comparison.facts}),
        caveats=(
            f"Philly here: {models['philly'].fitted_on}. The generator models jobs of every "
            "status; Philly's attempts with other statuses are known, not their whole jobs.",
        ),
    )


@dataclass(frozen=True)
class _Comparison:
    """Rows and facts of a comparison of models with Philly's jobs."""

    models: dict[str, WorkloadModel]
    tables: list[pd.DataFrame] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)

    def add(self, what: str, gang: str, source: str, percentile: object, value: object) -> None:
        """Add rows of the table."""
        columns = zip(_COLUMNS, (what, gang, source, percentile, value), strict=True)
        self.tables.append(pd.DataFrame(dict(columns)))

    def fact(self, name: str, value: float, digits: int, meaning: str) -> None:
        """Add a fact, rounded."""
        self.facts.append(Fact(name, round(float(value), digits), meaning))

    def compare_run_times(self) -> None:
        """Add the run times of each gang class, and the largest gaps of their CDFs."""
        run_times = {
            name: {c.gang: c.distribution for c in model.duration.by_gang}
            for name, model in self.models.items()
        }
        for gang, fitted in run_times["philly"].items():
            observed = np.asarray(fitted.observed)
            levels = np.asarray(OBSERVED_LEVELS[: observed.size])
            self.add("run time", gang, REAL, 100 * levels, observed)
            word = gang.replace("-", "_").replace(">", "over_")
            for name, by_gang in run_times.items():
                if gang in by_gang:  # the generator has smaller gangs only
                    self.add("run time", gang, name, 100 * levels, by_gang[gang].ppf(levels))
                    gap = np.abs(by_gang[gang].cdf(observed) - levels).max()
                    meaning = (
                        f"largest gap between the run time CDFs of {name} and Philly, {gang} GPU"
                    )
                    self.fact(f"{name}_run_time_gap_{word}", gap, 3, meaning)

    def compare_arrivals_and_sizes(self, seed: int) -> None:
        """Add gang sizes and inter-arrival times, and the distances of their distributions."""
        philly = self.models["philly"]
        gaps, sizes = np.asarray(philly.arrivals.gaps_s), np.asarray(philly.gang_size.overall.sizes)
        percent = np.linspace(0, 100, gaps.size)
        self.add("gap between arrivals", ALL, REAL, percent, gaps)
        self.add("gang size", ALL, REAL, 100 * philly.gang_size.cdf(sizes), sizes)
        hourly = "variance over mean of the jobs in an hour"
        for name, model in self.models.items():
            at = model.arrivals.sample(np.random.default_rng(seed), days=SAMPLE_DAYS)
            drawn = np.diff(at)
            quantiles = np.quantile(drawn, percent / 100)
            self.add("gap between arrivals", ALL, name, percent, quantiles)
            self.add("gang size", ALL, name, 100 * model.gang_size.cdf(sizes), sizes)
            variation = 0.5 * np.abs(model.gang_size.pmf(sizes) - philly.gang_size.pmf(sizes)).sum()
            of = f"of {name} and Philly"
            meaning = f"total variation distance between the gang sizes {of}"
            self.fact(f"{name}_gang_size_variation", variation, 3, meaning)
            meaning = f"largest gap between the CDFs of inter-arrival times {of}"
            self.fact(f"{name}_gap_gap", cdf_gap(np.floor(gaps), drawn), 3, meaning)
            dispersion = HourlyCounts.of(at).dispersion
            self.fact(f"{name}_hourly_dispersion", dispersion, 1, f"{hourly}, {name}")
            gpu_h = _gpu_h(model, seed)
            self.fact(f"{name}_gpu_h_per_job", gpu_h, 1, f"GPU hours per job, {name}")
        dispersion = philly.arrivals.dispersion
        self.fact("real_hourly_dispersion", dispersion, 1, f"{hourly}, Philly")


def _sentences(value: dict[str, float]) -> tuple[str, ...]:
    return (
        "The CDF of the generator's 1-GPU run times differs from Philly's by up to "
        f"{value['literature_run_time_gap_1']:.2f} (the fitted model: "
        f"{value['philly_run_time_gap_1']:.2f}), and its gang sizes differ in "
        f"{100 * value['literature_gang_size_variation']:.0f} % of the jobs.",
        f"Its hourly counts vary as a Poisson process does (variance over mean "
        f"{value['literature_hourly_dispersion']:.1f}); Philly's have a variance over mean of "
        f"{value['real_hourly_dispersion']:.0f}.",
        f"The generator's jobs, of any status, use "
        f"{value['literature_gpu_h_per_job']:.0f} GPU hours on average; Philly's passed "
        f"jobs {value['philly_gpu_h_per_job']:.0f}, and its attempts of any status "
        f"{value['every_ending_gpu_h_per_job']:.0f}.",
    )


def plot(result: Result) -> Figure:
    """Plot run times by gang size, gang sizes, and gaps between arrivals, by source."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "the shipped models have other gang buckets")
    runs, sizes, gaps = (
        table[table["what"] == what] for what in ("run time", "gang size", "gap between arrivals")
    )
    gangs = list(dict.fromkeys(runs["gang"]))
    rows = -(-(len(gangs) + 2) // _FIGURE_COLUMNS)
    fig, axes = figures.canvas(_FIGURE_COLUMNS, rows, width=10.5, height=3.1 * rows)
    for ax, gang in zip(axes, gangs, strict=False):
        figures.cdf(ax, runs[runs["gang"] == gang], value="value", by="source", colors=COLORS)
        figures.time_axis(ax, 1, 3e6)
        ax.set_xlabel("run time")
        figures.title(ax, f"Run time, {gang} GPU")
    by_size, by_gap, *empty = axes[len(gangs) :]
    for ax in empty:
        ax.remove()
    for source, color in COLORS.items():
        mine = sizes[sizes["source"] == source]
        by_size.step(mine["value"], mine["percentile"], where="post", color=color, label=source)
    by_size.set_xscale("log", base=2)
    by_size.set_xticks([2**k for k in range(8)], [str(2**k) for k in range(8)])
    by_size.set_xlabel("gang size, GPUs")
    figures.percent_axis(by_size, "jobs of at most that size")
    figures.title(by_size, "Gang size")
    gaps = gaps.assign(value=gaps["value"].clip(lower=0.5))
    figures.cdf(by_gap, gaps, value="value", by="source", colors=COLORS)
    figures.time_axis(by_gap, 0.5, 86_400)
    by_gap.set_xlabel("gap between arrivals (none: at 0.5 s)")
    figures.title(by_gap, "Arrivals")
    for line in (line for ax in fig.axes for line in ax.lines):
        if line.get_label() == REAL:  # wide, below the line of the fitted model
            line.set(linewidth=5, zorder=1)
    for ax in axes[: len(gangs)]:
        ax.set_ylabel("share of jobs")
    figures.label_lines(axes[: len(gangs)])
    return fig


def _gpu_h(model: WorkloadModel, seed: int) -> float:
    """Return the mean GPU hours of sampled jobs."""
    drawn, _ = draw_jobs(model, jobs=20_000, seed=seed, variation="none")
    return drawn.gpu_s / drawn.at_s.size / 3_600


ANALYSIS = Analysis(
    name="philly_like",
    question="How far are the jobs that most papers call Philly-like from Philly's jobs?",
    needs=(),
    compute=compute,
    plot=plot,
    study_only=True,
)
