"""Change the rate of recorded jobs at unchanged days: thin jobs, or copy jobs whole weeks later."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from philly_analysis.distributions import Floats, Ints
from philly_analysis.errors import WorkloadError
from philly_analysis.workload.demand import Demand
from philly_analysis.workload.load import (
    attempts_with_run_times,
    offered_load,
    stretch_factor,
    with_jobs,
)
from philly_analysis.workload.protocol import Tables

WEEK_S, DAY_S = 604_800, 86_400
CANDIDATES = 64
"""Selections of jobs that are drawn; the selection with the nearest load is taken."""
ORDER_SD = 0.1
"""Standard deviation added to log GPU-seconds before jobs are drawn at equal steps of that order,
so that seeds differ."""


@dataclass(frozen=True, slots=True)
class Resampled:
    """Copies of each job, and the load that the copies offer."""

    copies: Ints
    shift_s: int
    load: float


def at_rate(workload: Tables, demand: Demand, load: float, gpus: int, seed: int) -> Tables:
    """Return a workload whose jobs are thinned or copied so that they offer a load.

    Each job has the same expected number of copies. Selected jobs keep their submissions. The k-th
    further copy is submitted k whole weeks later; after the last whole week of the log, copies
    continue from the log's beginning. Logs shorter than two weeks use days, logs shorter than two
    days use the same moment. Waits and run times stay. Recorded placements and samples no longer
    match the jobs, and are dropped.

    Parameters
    ----------
    demand
        Jobs of the workload that can run on the cluster.
    load, gpus
        Load and GPUs, as in :func:`~philly_analysis.workload.load.offered_load`.

    Raises
    ------
    WorkloadError
        The load is not above 0, or the jobs offer none, before or after.
    """
    drawn = _resample(demand, load, gpus, np.random.default_rng(seed))
    rows = demand.jobs.select("job_id", "submit_s").with_columns(copies=pl.Series(drawn.copies))
    copied = _copies(rows, drawn.shift_s, demand.span_s)
    others = workload.jobs.pl().select("job_id").join(rows, on="job_id", how="anti")
    zero = others.with_columns(copy=pl.lit(0, pl.Int64), shift_s=pl.lit(0.0))
    return _with_copies(workload, pl.concat([copied, zero]), note(drawn, load, gpus))


def note(drawn: Resampled, load: float, gpus: int) -> str:
    """Return a sentence on what changed."""
    mean = drawn.copies.mean()
    changed = (
        f"each job is kept with a probability of {mean:.3g}"
        if mean <= 1
        else (
            f"each job is submitted {mean:.3g} times on average, copies "
            + (
                "at the same moment"
                if not drawn.shift_s
                else f"{'whole weeks' if drawn.shift_s == WEEK_S else 'whole days'} apart"
            )
        )
    )
    return (
        f"Offered load {drawn.load:.3g} on {gpus:,} GPUs ({load:g} requested): {changed}. Days "
        "stay days."
    )


def _resample(demand: Demand, load: float, gpus: int, rng: np.random.Generator) -> Resampled:
    """Draw selections of jobs, and return the selection with the nearest load."""
    span_s = demand.span_s
    factor = 1 / stretch_factor(load, demand.gpu_s, span_s, gpus)
    gpu_s, submit_s = (demand.jobs[name].to_numpy() for name in ("gpu_s", "submit_s"))
    unit = next((unit for unit in (WEEK_S, DAY_S) if span_s >= 2 * unit), 0)
    nearest: Resampled | None = None
    for _ in range(CANDIDATES):
        order = np.argsort(np.log1p(gpu_s) + ORDER_SD * rng.standard_normal(gpu_s.size))
        steps = np.floor(factor * np.arange(gpu_s.size + 1) + rng.random())
        copies = np.empty(gpu_s.size, int)
        copies[order] = np.diff(steps).astype(int)
        reached = offered_load(float(gpu_s @ copies), _span_s(submit_s[copies > 0], span_s), gpus)
        if reached and (
            nearest is None or abs(np.log(reached / load)) < abs(np.log(nearest.load / load))
        ):
            nearest = Resampled(copies, unit, reached)
    if nearest is None:
        raise WorkloadError(
            f"too few of the {gpu_s.size:,} jobs remain at an offered load of {load:g}. Give more "
            "jobs, or stretch their submissions in time with stretched(load)."
        )
    return nearest


def _span_s(submit_s: Floats, whole_s: float) -> float:
    """Return the seconds from the first to the last selected submission."""
    return min(float(np.ptp(submit_s)), whole_s) if submit_s.size else 0.0


def _copies(rows: pl.DataFrame, unit_s: int, span_s: float) -> pl.DataFrame:
    """Return one row per copy: job_id, copy (0: the job itself), shift_s."""
    cycle_s = span_s // unit_s * unit_s if unit_s else 0.0
    copied = (
        rows.filter(pl.col("copies") > 0)
        .with_columns(copy=pl.int_ranges(0, pl.col("copies")))
        .explode("copy")
    )
    later = pl.col("submit_s") + pl.col("copy") * unit_s
    beyond = ((later - span_s) / cycle_s).ceil().clip(0) * cycle_s if cycle_s else pl.lit(0.0)
    return copied.select(
        "job_id",
        pl.col("copy").cast(pl.Int64),
        shift_s=(pl.col("copy") * unit_s - beyond).cast(pl.Float64),
    )


def _with_copies(workload: Tables, copied: pl.DataFrame, sentence: str) -> Tables:
    """Return the workload with the copies of each job, and a note."""
    moved = pl.duration(microseconds=(pl.col("shift_s") * 1e6).cast(pl.Int64))
    named = pl.when(pl.col("copy") > 0).then(pl.format("{}~{}", "job_id", "copy"))

    def copies_of(rows: pl.DataFrame, *times: str) -> pl.DataFrame:
        return (
            rows.join(copied, on="job_id", how="inner", maintain_order="left")
            .with_columns(pl.col(times) + moved, job_id=named.otherwise("job_id"))
            .select(rows.columns)
        )

    return with_jobs(
        workload,
        copies_of(workload.jobs.pl(), "submitted_at", "eligible_at"),
        copies_of(attempts_with_run_times(workload), "started_at", "ended_at", "eligible_at"),
        sentence,
    )
