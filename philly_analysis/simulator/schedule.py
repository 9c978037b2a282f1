"""What happened in a simulation, as the tables of a trace."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from philly_analysis.simulator.causes import Causes
from philly_analysis.simulator.cluster import Grant, bits
from philly_analysis.simulator.job import Job
from philly_analysis.simulator.outages import Outage
from philly_analysis.workload import Machine


@dataclass(frozen=True, slots=True)
class Schedule:
    """What happened in a simulation, on a clock of seconds.

    Attributes
    ----------
    jobs
        One row per job: job_id, vc, gpus, submit_s, run_s (seconds that it needed by itself),
        end_s (null: it had not ended when the simulation stopped).
    attempts
        One row per attempt: job_id, attempt, start_s, end_s, gpus, end_reason,
        guest (whether on GPUs that others may hold), work_s (what it got done and kept, in
        seconds at full speed), lost_s (what it got done and lost, likewise).
    placements
        One row per GPU of an attempt: job_id, attempt, machine_id, gpu, container.
    speeds
        One row per stretch of an attempt at one speed: job_id, attempt, start_s, end_s, gpus,
        speed (0 while it restarts), cpus, mem_gb (held in all; 0 where nobody counts them).
    holds
        One row per GPU held idle by a gang that was not whole yet: job_id, attempt (that it led
        to), machine_id, gpu, start_s, end_s.
    waits
        One row per wait: see :meth:`philly_analysis.simulator.causes.Causes.frame`.
    outages
        One row per outage that began, in their order: machine_id, gpu (null: all of the machine),
        start_s, end_s (infinite: it lasts).
    events
        Arrivals, ends, reviews, failures and repairs that the engine went through.
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
        """Whether all jobs ran at full speed, and nobody counted CPUs."""
        return bool(((self.speeds["speed"] == 1) & (self.speeds["cpus"] == 0)).all())

    @property
    def jct_s(self) -> np.ndarray:
        """Seconds from submission to end of the jobs that ended, in the order of submission."""
        ended = self.jobs.filter(pl.col("end_s").is_not_null())
        return (ended["end_s"] - ended["submit_s"]).to_numpy()


class Record:
    """Takes down attempts as they end."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._rows: list[tuple[int, float, float, str, float, float]] = []
        self._grants: list[Grant] = []
        self._same: dict[Grant, Grant] = {}  # most attempts hold what others have held
        self._segments: list[tuple[str, int, float, float, int, float, float, float]] = []
        self._holds: list[tuple[Job, int, float, float, Grant]] = []

    def attempt(self, job: Job, now_s: float, reason: str, lost_s: float) -> None:
        """Take down that the present attempt of a job ends now, and what it loses of its work."""
        self.segment(job, now_s)
        self._jobs.append(job)
        kept_s = max(job.work_s(now_s) - lost_s, 0.0)
        self._rows.append((job.started, job.started_s, now_s, reason, kept_s, lost_s))
        self._grants.append(self._same.setdefault(job.held, job.held))

    def segment(self, job: Job, now_s: float) -> None:
        """Take down that a stretch at one speed ends now."""
        gets_on_s = min(max(job.gets_on_s, job.segment_s), now_s)
        self._stretch(job, job.segment_s, gets_on_s, 0.0)
        self._stretch(job, gets_on_s, now_s, job.speed)
        job.segment_s = now_s

    def _stretch(self, job: Job, start_s: float, end_s: float, speed: float) -> None:
        if end_s > start_s:
            held = job.held
            self._segments.append(
                (
                    *(job.spec.job_id, job.started, start_s, end_s, held.gpus, speed),
                    *(held.cpus * held.gpus, held.mem_gb * held.gpus),
                )
            )

    def hold(self, job: Job, now_s: float) -> None:
        """Take down that a job gives up, or makes whole, the part of a gang that it holds."""
        if now_s > job.segment_s:
            self._holds.append((job, job.started + 1, job.segment_s, now_s, job.held))

    def schedule(
        self,
        jobs: Sequence[Job],
        machines: Sequence[Machine],
        causes: Causes,
        outages: Sequence[Outage],
        events: int,
    ) -> Schedule:
        """Return everything taken down, in the order of submission."""
        nth = np.array([job.index for job in self._jobs], np.int64)
        attempted = np.array([attempt for attempt, *_ in self._rows], np.int64)
        order: list[int] = np.lexsort((attempted, nth)).tolist()
        ids = [self._jobs[i].spec.job_id for i in order]
        attempt, start_s, end_s, reason, work_s, lost_s = (
            zip(*(self._rows[i] for i in order), strict=True) if order else ((),) * 6
        )
        attempts = pl.DataFrame(
            {
                "job_id": pl.Series(ids, dtype=pl.String),
                "attempt": pl.Series(attempt, dtype=pl.Int32),
                "start_s": pl.Series(start_s, dtype=pl.Float64),
                "end_s": pl.Series(end_s, dtype=pl.Float64),
                "gpus": pl.Series([self._grants[i].gpus for i in order], dtype=pl.Int32),
                "end_reason": pl.Series(reason, dtype=pl.String),
                "guest": pl.Series([self._grants[i].guest for i in order], dtype=pl.Boolean),
                "work_s": pl.Series(work_s, dtype=pl.Float64),
                "lost_s": pl.Series(lost_s, dtype=pl.Float64),
            }
        )
        return Schedule(
            jobs=self._ends(jobs, attempts),
            attempts=attempts,
            placements=_placements(
                attempts.select("job_id", "attempt"), [self._grants[i] for i in order], machines
            ),
            speeds=_frame(
                self._segments,
                {
                    "job_id": pl.String,
                    "attempt": pl.Int32,
                    "start_s": pl.Float64,
                    "end_s": pl.Float64,
                    "gpus": pl.Int32,
                    "speed": pl.Float64,
                    "cpus": pl.Float64,
                    "mem_gb": pl.Float64,
                },
            ),
            holds=self._idle(machines),
            waits=causes.frame(),
            outages=_frame(
                ((o.machine_id, o.gpu, o.start_s, o.end_s) for o in outages),
                {
                    "machine_id": pl.String,
                    "gpu": pl.Int32,
                    "start_s": pl.Float64,
                    "end_s": pl.Float64,
                },
            ),
            events=events,
        )

    def _idle(self, machines: Sequence[Machine]) -> pl.DataFrame:
        rows = sorted(self._holds, key=lambda hold: (hold[0].index, *hold[1:3]))
        frame = pl.DataFrame(
            [(job.spec.job_id, *times) for job, *times, _ in rows],
            schema={
                "job_id": pl.String,
                "attempt": pl.Int32,
                "start_s": pl.Float64,
                "end_s": pl.Float64,
            },
            orient="row",
        )
        return _placements(frame, [grant for *_, grant in rows], machines)

    def _ends(self, jobs: Sequence[Job], attempts: pl.DataFrame) -> pl.DataFrame:
        ended = attempts.group_by("job_id").agg(pl.col("end_s").max())
        done = _frame(
            (
                (j.spec.job_id, j.vc, j.gpus, j.spec.submit_s, j.spec.run_s, j.run == len(j.runs))
                for j in jobs
            ),
            {
                "job_id": pl.String,
                "vc": pl.String,
                "gpus": pl.Int32,
                "submit_s": pl.Float64,
                "run_s": pl.Float64,
                "done": pl.Boolean,
            },
        )
        return (
            done.join(ended, on="job_id", how="left", maintain_order="left")
            .with_columns(end_s=pl.when("done").then("end_s"))
            .drop("done")
        )


def _frame(rows: Iterable[tuple[Any, ...]], schema: dict[str, Any]) -> pl.DataFrame:
    """Return rows as a frame, made column by column, which takes half of the memory."""
    columns = tuple(zip(*rows, strict=True)) or ((),) * len(schema)
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype=dtype)
            for (name, dtype), values in zip(schema.items(), columns, strict=True)
        ]
    )


def _placements(
    attempts: pl.DataFrame, grants: Sequence[Grant], machines: Sequence[Machine]
) -> pl.DataFrame:
    """Return one row per GPU of each row; each machine of it is one container."""
    row: list[int] = []
    machine: list[int] = []
    gpu: list[int] = []
    container: list[int] = []
    for i, grant in enumerate(grants):
        for c, (m, mask) in enumerate(grant.shares):
            indices = bits(mask)
            row += [i] * len(indices)
            machine += [m] * len(indices)
            container += [c] * len(indices)
            gpu += indices
    names = pl.Series([m.machine_id for m in machines], dtype=pl.String)
    return attempts[row].with_columns(
        machine_id=names.gather(machine),
        gpu=pl.Series(gpu, dtype=pl.Int32),
        container=pl.Series(container, dtype=pl.Int32),
    )
