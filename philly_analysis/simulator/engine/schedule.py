"""Record attempts, placements and speeds during a simulation, and return them as frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from polars._typing import PolarsDataType

from philly_analysis.simulator.cluster.allocation import Allocation, set_bits
from philly_analysis.simulator.engine.outages import Outage
from philly_analysis.simulator.engine.row_buffer import RowBuffer
from philly_analysis.simulator.engine.wait_causes import WaitClocks
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.study import END_REASONS
from philly_analysis.workload import JobSpec, Machine

_REASON = {reason: place for place, reason in enumerate(END_REASONS)}

ORDER = {
    "attempts": "attempt",
    "placements": "attempt",
    "speeds": "start_s",
    "holds": "start_s",
    "waits": "since_s",
}
"""By frame, the column by which a job's rows are sorted."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The outcome of a simulation; times are seconds.

    Attributes
    ----------
    jobs
        One row per job: job_id, vc, gpus, submit_s, run_s (run time without waits), end_s (null:
        the job had not ended when the simulation stopped).
    attempts
        One row per attempt: job_id, attempt, start_s, end_s, gpus, end_reason, guest (whether on
        GPUs that other jobs may hold), work_s (work done and kept, seconds at full speed), lost_s
        (work done and lost, likewise).
    placements
        One row per GPU of an attempt: job_id, attempt, machine_id, gpu, container.
    speeds
        One row per interval of constant speed of an attempt: job_id, attempt, start_s, end_s,
        gpus, speed (0 during a restart), cpus, mem_gb (allocated in all; 0 if not allocated).
    holds
        One row per GPU reserved, idle, for an incomplete gang: job_id, attempt (the gang's next),
        machine_id, gpu, start_s, end_s.
    waits
        One row per wait: see :meth:`philly_analysis.simulator.engine.wait_causes.WaitClocks.frame`.
    outages
        One row per outage that began, in order: machine_id, gpu (null: the whole machine),
        start_s, end_s (infinite: permanent).
    events
        Arrivals, ends, reviews, failures and repairs that the engine processed.
    """

    jobs: pl.DataFrame
    attempts: pl.DataFrame
    placements: pl.DataFrame
    speeds: pl.DataFrame
    holds: pl.DataFrame
    waits: pl.DataFrame
    outages: pl.DataFrame
    events: int

    @property
    def as_recorded(self) -> bool:
        """Whether all jobs ran at full speed, without allocated CPUs."""
        return bool(((self.speeds["speed"] == 1) & (self.speeds["cpus"] == 0)).all())

    @property
    def jct_s(self) -> np.ndarray:
        """Completion times (s) of the jobs that ended, in the order of submission."""
        ended = self.jobs.filter(pl.col("end_s").is_not_null())
        return (ended["end_s"] - ended["submit_s"]).to_numpy()


def merge_schedules(schedules: Sequence[Schedule], jobs: pl.DataFrame | None = None) -> Schedule:
    """Return several schedules as one, in the order of the jobs: by default of submission."""
    if jobs is None:
        if len(schedules) == 1:
            return schedules[0]
        jobs = pl.concat([s.jobs for s in schedules]).sort("submit_s", "job_id")
    nth = jobs.select("job_id").with_row_index("nth")

    def merged(name: str, then: str) -> pl.DataFrame:
        rows: pl.DataFrame = pl.concat([getattr(schedule, name) for schedule in schedules])
        rows = rows.join(nth, on="job_id", maintain_order="left")
        return rows.sort("nth", then, maintain_order=True).drop("nth")

    return Schedule(
        jobs=jobs,
        **{name: merged(name, then) for name, then in ORDER.items()},
        outages=pl.concat([s.outages for s in schedules]).sort("start_s", maintain_order=True),
        events=sum(s.events for s in schedules),
    )


class _AttemptRow(NamedTuple):
    """A row of ``Schedule.attempts``: the job and the end reason are numbers."""

    job_id: int
    attempt: int
    start_s: float
    end_s: float
    gpus: int
    end_reason: int
    guest: bool
    work_s: float
    lost_s: float


class _SpeedRow(NamedTuple):
    """A row of ``Schedule.speeds``: the job is a number."""

    job_id: int
    attempt: int
    start_s: float
    end_s: float
    gpus: int
    speed: float
    cpus: float
    mem_gb: float


class _HoldRow(NamedTuple):
    """A row of ``Schedule.holds`` without GPUs: the job is a number."""

    job_id: int
    attempt: int
    start_s: float
    end_s: float


class _GpuRow(NamedTuple):
    """A GPU of a row: the row and the machine are numbers."""

    row: int
    machine_id: int
    gpu: int
    container: int


class ScheduleRecorder:
    """Records attempts as they end."""

    def __init__(self) -> None:
        self._attempts = RowBuffer(_AttemptRow)
        self._speeds = RowBuffer(_SpeedRow)
        self._holds = RowBuffer(_HoldRow)
        self._allocations: list[Allocation] = []
        self._distinct: dict[Allocation, Allocation] = {}  # most attempts repeat an allocation
        self._held: list[Allocation] = []

    def end_attempt(self, job: Job, now_s: float, reason: str, lost_s: float) -> None:
        """Record the end of a job's present attempt, and the work that the attempt loses."""
        self.end_interval(job, now_s)
        work_s, allocation = max(job.work_s(now_s) - lost_s, 0.0), job.allocated
        self._attempts.add(
            _AttemptRow(
                job_id=job.index,
                attempt=job.started,
                start_s=job.started_s,
                end_s=now_s,
                gpus=allocation.gpus,
                end_reason=_REASON[reason],
                guest=allocation.guest,
                work_s=work_s,
                lost_s=lost_s,
            )
        )
        self._allocations.append(self._distinct.setdefault(allocation, allocation))

    def end_interval(self, job: Job, now_s: float) -> None:
        """Record the end of an interval of constant speed."""
        if now_s > job.segment_s:
            progress_from_s = min(max(job.progress_from_s, job.segment_s), now_s)
            self._interval(job, job.segment_s, progress_from_s, 0.0)
            self._interval(job, progress_from_s, now_s, job.speed)
            job.segment_s = now_s

    def _interval(self, job: Job, start_s: float, end_s: float, speed: float) -> None:
        if end_s > start_s:
            held = job.allocated
            self._speeds.add(
                _SpeedRow(
                    job_id=job.index,
                    attempt=job.started,
                    start_s=start_s,
                    end_s=end_s,
                    gpus=held.gpus,
                    speed=speed,
                    cpus=held.cpus * held.gpus,
                    mem_gb=held.mem_gb * held.gpus,
                )
            )

    def end_hold(self, job: Job, now_s: float) -> None:
        """Record that an incomplete gang releases, or completes, its reserved GPUs."""
        if now_s > job.segment_s:
            self._holds.add(_HoldRow(job.index, job.started + 1, job.segment_s, now_s))
            self._held.append(job.allocated)

    def schedule(
        self,
        specs: Sequence[JobSpec],
        done: bytearray,
        machines: Sequence[Machine],
        clocks: WaitClocks,
        outages: Sequence[Outage],
        events: int,
    ) -> Schedule:
        """Return the schedule so far, in the order of submission.

        Parameters
        ----------
        specs
            The jobs in the order of submission.
        done
            A byte per job: 1 if the job has ended, else 0.
        """
        jobs = job_rows(specs)
        ids = jobs["job_id"]
        attempts = self._attempts.frame()
        ended_s = np.full(len(specs), -np.inf)
        np.maximum.at(ended_s, attempts["job_id"].to_numpy(), attempts["end_s"].to_numpy())
        ended_s[~np.frombuffer(done, np.bool_)] = np.nan
        order = np.lexsort((attempts["attempt"], attempts["job_id"]))
        attempts = self._attempts.frame({"job_id": ids, "end_reason": END_REASONS}, order)
        held = self._holds.frame()
        hold_order = np.lexsort((held["start_s"], held["attempt"], held["job_id"]))
        return Schedule(
            jobs=jobs.with_columns(end_s=pl.Series(ended_s).fill_nan(None)),
            attempts=attempts,
            placements=_placements(
                attempts.select("job_id", "attempt"), self._allocations, order, machines
            ),
            speeds=self._speeds.frame({"job_id": ids}),
            holds=_placements(
                self._holds.frame({"job_id": ids}, hold_order), self._held, hold_order, machines
            ),
            waits=clocks.frame(ids),
            outages=pl.DataFrame(
                [(o.machine_id, o.gpu, o.start_s, o.end_s) for o in outages],
                schema={"machine_id": str, "gpu": pl.Int32, "start_s": float, "end_s": float},
                orient="row",
            ),
            events=events,
        )


def spec_rows(specs: Sequence[JobSpec], **columns: PolarsDataType) -> pl.DataFrame:
    """Return fields of jobs as columns, one row per job."""
    values = {name: [getattr(spec, name) for spec in specs] for name in columns}
    return pl.DataFrame(values, schema=columns)


def job_rows(specs: Sequence[JobSpec]) -> pl.DataFrame:
    """Return the columns of ``Schedule.jobs`` that do not depend on the schedule."""
    text, number = pl.String, pl.Float64
    return spec_rows(specs, job_id=text, vc=text, gpus=pl.Int32, submit_s=number, run_s=number)


def _placements(
    rows: pl.DataFrame,
    allocations: Sequence[Allocation],
    order: np.ndarray,
    machines: Sequence[Machine],
) -> pl.DataFrame:
    """Return one row per GPU of each row; each machine of a row is one container."""
    gpus = RowBuffer(_GpuRow)
    for row, nth in enumerate(order.tolist()):
        for container, (machine, mask) in enumerate(allocations[nth].shares):
            for gpu in set_bits(mask):
                gpus.add(_GpuRow(row, machine, gpu, container))
    placed = gpus.frame({"machine_id": [m.machine_id for m in machines]})
    return rows[placed["row"]].with_columns(placed.drop("row"))
