"""Small jobs, machines and schedules, and comparisons of their Gantt bars."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from philly_analysis.simulator import Policy, Schedule, run
from philly_analysis.workload import AttemptSpec, JobSpec, Machine
from tests.simulator.reference import Bars


def job(
    name: str,
    submit_s: float,
    gpus: int,
    *runs_s: float,
    vc: str = "a",
    job_type: str | None = None,
    status: str = "Pass",
) -> JobSpec:
    return JobSpec(
        job_id=name,
        vc=vc,
        user="u",
        gpus=gpus,
        submit_s=float(submit_s),
        attempts=tuple(AttemptSpec(float(s)) for s in runs_s),
        status=status,
        job_type=job_type,
    )


def machines(*gpus: int, rack: str | None = None) -> list[Machine]:
    return [Machine(f"m{i}", n, rack=rack) for i, n in enumerate(gpus)]


def gantt(schedule: Schedule) -> Bars:
    """Bars per job: (start, end, end reason), rounded to a millisecond."""
    bars: Bars = {}
    for job_id, start_s, end_s, reason in schedule.attempts.select(
        "job_id", "start_s", "end_s", "end_reason"
    ).iter_rows():
        bars.setdefault(job_id, []).append((round(start_s, 3), round(end_s, 3), reason))
    return bars


def bars_of(jobs: Iterable[JobSpec], gpus: Sequence[int], policy: Policy, **options: Any) -> Bars:
    """Simulate jobs on servers with so many GPUs, and return the bars."""
    return gantt(run(jobs, machines(*gpus), policy, **options))


def done(start_s: float, end_s: float) -> list[tuple[float, float, str]]:
    return [(start_s, end_s, "completed")]


def migrates(bars: Bars) -> bool:
    return any(how == "migrated" for own in bars.values() for *_, how in own)


def assert_same_bars(actual: Bars, expected: Bars, *, within_s: float = 1e-3) -> None:
    assert {name: [how for *_, how in bars] for name, bars in actual.items()} == {
        name: [how for *_, how in bars] for name, bars in expected.items()
    }
    moments, wanted = (
        [moment for name in actual for *moments, _ in bars[name] for moment in moments]
        for bars in (actual, expected)
    )
    assert moments == pytest.approx(wanted, abs=within_s, rel=0)


def held(schedule: Schedule) -> Iterable[tuple[str, int, float, float, str]]:
    """Every (machine, gpu, start, end, job) of a schedule, by GPU and time."""
    return (
        schedule.placements.join(schedule.attempts, on=["job_id", "attempt"])
        .select("machine_id", "gpu", "start_s", "end_s", "job_id")
        .sort("machine_id", "gpu", "start_s", "end_s")
        .iter_rows()
    )


def ended_in_time(schedule: Schedule, events_per_job: int = 2_000) -> bool:
    """Whether the number of events is limited, so that the simulation cannot hang."""
    return schedule.events <= events_per_job * schedule.jobs.height


def assert_work_done(schedule: Schedule, specs: Iterable[JobSpec]) -> None:
    assert ended_in_time(schedule)
    work_s = dict(schedule.attempts.group_by("job_id").agg(pl.col("work_s").sum()).iter_rows())
    assert work_s == pytest.approx({s.job_id: s.run_s for s in specs}, abs=1e-3)


def ends(schedule: Schedule) -> Mapping[str, float]:
    return dict(schedule.jobs.select("job_id", "end_s").iter_rows())
