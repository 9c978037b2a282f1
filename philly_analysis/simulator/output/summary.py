"""What a what-if did, in sentences: the waits beside the recorded ones, and where GPU time went."""

import polars as pl

from philly_analysis.results import count, duration, number, rank_association, share
from philly_analysis.simulator.engine.schedule import Schedule

_FEWEST = 10
"""Jobs with both waits below which they are not compared."""


def first_waits(jobs: pl.DataFrame, schedule: Schedule) -> pl.DataFrame:
    """Return each job's wait for its first start, as recorded and here.

    Parameters
    ----------
    jobs
        Columns job_id and wait_s, null where it is not known (see
        :class:`~philly_analysis.workload.demand.Demand`).

    Returns
    -------
    polars.DataFrame
        Columns job_id, gpus, recorded_s and here_s; jobs whose recorded wait is not known, or
        below zero, are left out.
    """
    started = schedule.attempts.group_by("job_id").agg(pl.col("start_s").min())
    return (
        schedule.jobs.join(started, on="job_id")
        .join(jobs.select("job_id", recorded_s="wait_s"), on="job_id")
        .filter(pl.col("recorded_s") >= 0)
        .select("job_id", "gpus", "recorded_s", here_s=pl.col("start_s") - pl.col("submit_s"))
    )


def says(jobs: pl.DataFrame, schedule: Schedule) -> tuple[str, ...]:
    """Say how far waits are from the recorded ones, and what GPU time was lost; if anything."""
    return (*_waits(first_waits(jobs, schedule)), *_gpu_time(schedule), *_outages(schedule))


def _waits(waits: pl.DataFrame) -> tuple[str, ...]:
    recorded_s, here_s = waits["recorded_s"], waits["here_s"]
    total_s = float(recorded_s.sum())
    if waits.height < _FEWEST or not total_s:
        return ()
    here_total_s = float(here_s.sum())
    both_s = float(waits.select(pl.min_horizontal("recorded_s", "here_s")).sum().item())
    rank = rank_association(recorded_s.to_numpy(), here_s.to_numpy()).rho
    ours = (
        f", and {share(both_s / here_total_s)} of the waiting here was recorded" if both_s else ""
    )
    alike = "" if rank != rank else f"; the rank correlation is {rank:.2f}"
    medians = [duration(float(s.median() or 0.0)) for s in (recorded_s, here_s)]  # type: ignore[arg-type]
    return (
        f"First waits of {waits.height:,} jobs, as recorded and here: mean "
        f"{duration(total_s / waits.height)} and {duration(here_total_s / waits.height)}, "
        f"median {medians[0]} and {medians[1]}. Job by job, {share(both_s / total_s)} of the "
        f"recorded waiting is waited here as well{ours}{alike}.",
    )


def _gpu_time(schedule: Schedule) -> tuple[str, ...]:
    """Return where GPU time went that did not bring jobs on."""
    hours = pl.col("gpus") * (pl.col("end_s") - pl.col("start_s")) / 3600
    held_h, still_h = schedule.speeds.select(
        hours.sum(), hours.filter(pl.col("speed") == 0).sum().alias("still")
    ).row(0)
    lost_h = float((schedule.attempts["lost_s"] * schedule.attempts["gpus"]).sum()) / 3600
    idle_h = float((schedule.holds["end_s"] - schedule.holds["start_s"]).sum()) / 3600
    said = []
    if still_h or lost_h:
        said.append(
            f"Of {number(held_h)} GPU hours held, {number(still_h)} stood still (restarts, guests "
            f"without room), and work of {number(lost_h)} GPU hours was lost as jobs were stopped."
        )
    if idle_h:
        said.append(
            f"Gangs that were not whole yet held GPUs idle for {number(idle_h)} GPU hours more."
        )
    return tuple(said)


def _outages(schedule: Schedule) -> tuple[str, ...]:
    """Return what failed, and what that did to jobs."""
    failed = schedule.outages["gpu"].is_null()
    if failed.is_empty():
        return ()
    hit = schedule.attempts.filter(pl.col("end_reason") == "node_failure")
    lost_h = float((hit["lost_s"] * hit["gpus"]).sum()) / 3600
    return (
        f"{count(int(failed.sum()), 'failure')} of machines and {int((~failed).sum()):,} of single "
        f"GPUs; {count(hit.height, 'attempt')} ended by them (node_failure), and work of "
        f"{number(lost_h)} GPU hours was lost to them.",
    )
