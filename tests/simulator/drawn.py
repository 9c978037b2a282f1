"""Jobs and schedules as one draws them on paper."""

from collections.abc import Iterable

from philly_analysis.simulator import Schedule
from philly_analysis.workload import AttemptSpec, JobSpec, Machine


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


def gantt(schedule: Schedule) -> dict[str, list[tuple[float, float, str]]]:
    """Bars per job: (start, end, how it ended), rounded to a millisecond."""
    bars: dict[str, list[tuple[float, float, str]]] = {}
    for job_id, start_s, end_s, reason in schedule.attempts.select(
        "job_id", "start_s", "end_s", "end_reason"
    ).iter_rows():
        bars.setdefault(job_id, []).append((round(start_s, 3), round(end_s, 3), reason))
    return bars


def done(start_s: float, end_s: float) -> list[tuple[float, float, str]]:
    return [(start_s, end_s, "completed")]


def held(schedule: Schedule) -> Iterable[tuple[str, int, float, float, str]]:
    """Every (machine, gpu, start, end, job) of a schedule, by GPU and time."""
    return (
        schedule.placements.join(schedule.attempts, on=["job_id", "attempt"])
        .select("machine_id", "gpu", "start_s", "end_s", "job_id")
        .sort("machine_id", "gpu", "start_s", "end_s")
        .iter_rows()
    )


def ended_in_time(schedule: Schedule, events_per_job: int = 2_000) -> bool:
    """Whether a simulation got through with events of a sane number, so that it cannot hang."""
    return schedule.events <= events_per_job * schedule.jobs.height
