"""Summarise a what-if in sentences: waits against the recorded ones, lost GPU time, outages."""

import polars as pl

from philly_analysis.results import count, duration, number, rank_association, share
from philly_analysis.simulator.engine.schedule import Schedule

_FEWEST = 10
"""Fewest jobs with both waits for a comparison."""


def first_waits(jobs: pl.DataFrame, schedule: Schedule) -> pl.DataFrame:
    """Return each job's wait for its first start, as recorded and as simulated.

    Parameters
    ----------
    jobs
        Columns job_id and wait_s, null if unknown (see
        :class:`~philly_analysis.workload.demand.Demand`).

    Returns
    -------
    polars.DataFrame
        Columns job_id, gpus, recorded_s and here_s; without jobs whose recorded wait is unknown
        or negative.
    """
    started = schedule.attempts.group_by("job_id").agg(pl.col("start_s").min())
    return (
        schedule.jobs.join(started, on="job_id")
        .join(jobs.select("job_id", recorded_s="wait_s"), on="job_id")
        .filter(pl.col("recorded_s") >= 0)
        .select("job_id", "gpus", "recorded_s", here_s=pl.col("start_s") - pl.col("submit_s"))
    )


def summary_notes(jobs: pl.DataFrame, schedule: Schedule) -> tuple[str, ...]:
    """Return sentences on waits, lost GPU time and outages, if any."""
    return (
        *_wait_notes(first_waits(jobs, schedule)),
        *_gpu_time_notes(schedule),
        *_outage_notes(schedule),
    )


def _wait_notes(waits: pl.DataFrame) -> tuple[str, ...]:
    recorded_s, here_s = waits["recorded_s"], waits["here_s"]
    total_s, here_total_s = float(recorded_s.sum()), float(here_s.sum())
    if waits.height < _FEWEST or not total_s:
        return ()
    both_s = float(waits.select(pl.min_horizontal("recorded_s", "here_s")).sum().item())
    rank = rank_association(recorded_s.to_numpy(), here_s.to_numpy()).rho
    ours = (
        f", and {share(both_s / here_total_s)} of the simulated waiting was recorded"
        if both_s
        else ""
    )
    alike = "" if rank != rank else f"; the rank correlation is {rank:.2f}"
    medians = [duration(float(s.median() or 0.0)) for s in (recorded_s, here_s)]  # type: ignore[arg-type]
    return (
        f"First waits of {waits.height:,} jobs, recorded and simulated: mean "
        f"{duration(total_s / waits.height)} and {duration(here_total_s / waits.height)}, "
        f"median {medians[0]} and {medians[1]}. Job by job, {share(both_s / total_s)} of the "
        f"recorded waiting is simulated{ours}{alike}.",
    )


def _gpu_time_notes(schedule: Schedule) -> tuple[str, ...]:
    hours = pl.col("gpus") * (pl.col("end_s") - pl.col("start_s")) / 3600
    held_h, still_h = schedule.speeds.select(
        hours.sum(), hours.filter(pl.col("speed") == 0).sum().alias("still")
    ).row(0)
    lost_h = float((schedule.attempts["lost_s"] * schedule.attempts["gpus"]).sum()) / 3600
    idle_h = float((schedule.holds["end_s"] - schedule.holds["start_s"]).sum()) / 3600
    notes = []
    if still_h or lost_h:
        notes.append(
            f"Of {number(held_h)} allocated GPU hours, {number(still_h)} made no progress "
            "(restarts, guests without room), and stopped jobs lost work of "
            f"{number(lost_h)} GPU hours."
        )
    if idle_h:
        notes.append(f"Incomplete gangs held GPUs idle for another {number(idle_h)} GPU hours.")
    return tuple(notes)


def _outage_notes(schedule: Schedule) -> tuple[str, ...]:
    failed = schedule.outages["gpu"].is_null()
    if failed.is_empty():
        return ()
    hit = schedule.attempts.filter(pl.col("end_reason") == "node_failure")
    lost_h = float((hit["lost_s"] * hit["gpus"]).sum()) / 3600
    return (
        f"{count(int(failed.sum()), 'failure')} of machines and {int((~failed).sum()):,} of single "
        f"GPUs ended {count(hit.height, 'attempt')} (node_failure), which lost work of "
        f"{number(lost_h)} GPU hours.",
    )
