"""What happened in a simulation, as the tables of a trace."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from philly_analysis.simulator.cluster.cluster import Grant, bits
from philly_analysis.simulator.engine.outages import Outage
from philly_analysis.simulator.engine.row_buffer import Columns
from philly_analysis.simulator.engine.wait_causes import Causes
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.study import END_REASONS
from philly_analysis.workload import JobSpec, Machine

_REASON = {reason: place for place, reason in enumerate(END_REASONS)}


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
        One row per wait: see :meth:`philly_analysis.simulator.engine.wait_causes.Causes.frame`.
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
        self._attempts = Columns(
            job_id="i", attempt="i", start_s="d", end_s="d", end_reason="i", work_s="d", lost_s="d"
        )
        self._grants: list[Grant] = []
        self._same: dict[Grant, Grant] = {}  # most attempts hold what others have held
        self._speeds = Columns(
            job_id="i",
            attempt="i",
            start_s="d",
            end_s="d",
            gpus="i",
            speed="d",
            cpus="d",
            mem_gb="d",
        )
        self._holds = Columns(job_id="i", attempt="i", start_s="d", end_s="d")
        self._held: list[Grant] = []

    def attempt(self, job: Job, now_s: float, reason: str, lost_s: float) -> None:
        """Take down that the present attempt of a job ends now, and what it loses of its work."""
        self.segment(job, now_s)
        kept_s = max(job.work_s(now_s) - lost_s, 0.0)
        self._attempts.add(
            *(job.index, job.started, job.started_s, now_s, _REASON[reason], kept_s, lost_s)
        )
        self._grants.append(self._same.setdefault(job.held, job.held))

    def segment(self, job: Job, now_s: float) -> None:
        """Take down that a stretch at one speed ends now."""
        if now_s > job.segment_s:
            gets_on_s = min(max(job.gets_on_s, job.segment_s), now_s)
            self._stretch(job, job.segment_s, gets_on_s, 0.0)
            self._stretch(job, gets_on_s, now_s, job.speed)
            job.segment_s = now_s

    def _stretch(self, job: Job, start_s: float, end_s: float, speed: float) -> None:
        if end_s > start_s:
            held = job.held
            self._speeds.add(
                *(job.index, job.started, start_s, end_s, held.gpus, speed),
                *(held.cpus * held.gpus, held.mem_gb * held.gpus),
            )

    def hold(self, job: Job, now_s: float) -> None:
        """Take down that a job gives up, or makes whole, the part of a gang that it holds."""
        if now_s > job.segment_s:
            self._holds.add(job.index, job.started + 1, job.segment_s, now_s)
            self._held.append(job.held)

    def schedule(
        self,
        specs: Sequence[JobSpec],
        done: bytearray,
        machines: Sequence[Machine],
        causes: Causes,
        outages: Sequence[Outage],
        events: int,
    ) -> Schedule:
        """Return everything taken down, in the order of submission.

        Parameters
        ----------
        specs
            The jobs in that order.
        done
            A byte for each, 1 where it has ended.
        """
        ids = pl.Series("job_id", [spec.job_id for spec in specs], dtype=pl.String)
        taken = self._attempts
        order = np.lexsort((taken.numbers("attempt"), taken.numbers("job_id")))
        grants = [self._grants[i] for i in order.tolist()]
        attempts = pl.DataFrame(
            [
                taken.words("job_id", ids, order),
                *(taken.series(name, order) for name in ("attempt", "start_s", "end_s")),
                pl.Series("gpus", [grant.gpus for grant in grants], dtype=pl.Int32),
                taken.words("end_reason", END_REASONS, order),
                pl.Series("guest", [grant.guest for grant in grants], dtype=pl.Boolean),
                *(taken.series(name, order) for name in ("work_s", "lost_s")),
            ]
        )
        return Schedule(
            jobs=self._ends(specs, done, ids),
            attempts=attempts,
            placements=_placements(attempts.select("job_id", "attempt"), grants, machines),
            speeds=pl.DataFrame(
                [
                    self._speeds.words("job_id", ids),
                    *map(
                        self._speeds.series,
                        ("attempt", "start_s", "end_s", "gpus", "speed", "cpus", "mem_gb"),
                    ),
                ]
            ),
            holds=self._idle(ids, machines),
            waits=causes.frame(ids),
            outages=pl.DataFrame(
                [(o.machine_id, o.gpu, o.start_s, o.end_s) for o in outages],
                schema={
                    "machine_id": pl.String,
                    "gpu": pl.Int32,
                    "start_s": pl.Float64,
                    "end_s": pl.Float64,
                },
                orient="row",
            ),
            events=events,
        )

    def _idle(self, ids: pl.Series, machines: Sequence[Machine]) -> pl.DataFrame:
        names = ("attempt", "start_s", "end_s")
        by = [self._holds.numbers(name) for name in ("start_s", "attempt", "job_id")]
        order = np.lexsort(by)
        frame = pl.DataFrame(
            [
                self._holds.words("job_id", ids, order),
                *(self._holds.series(name, order) for name in names),
            ]
        )
        return _placements(frame, [self._held[i] for i in order.tolist()], machines)

    def _ends(self, specs: Sequence[JobSpec], done: bytearray, ids: pl.Series) -> pl.DataFrame:
        ended_s = np.full(len(specs), -np.inf)
        np.maximum.at(ended_s, self._attempts.numbers("job_id"), self._attempts.numbers("end_s"))
        ended = np.frombuffer(done, np.bool_)
        return pl.DataFrame(
            [
                ids,
                pl.Series("vc", [spec.vc for spec in specs], dtype=pl.String),
                pl.Series("gpus", [spec.gpus for spec in specs], dtype=pl.Int32),
                pl.Series("submit_s", [spec.submit_s for spec in specs], dtype=pl.Float64),
                pl.Series("run_s", [spec.run_s for spec in specs], dtype=pl.Float64),
                pl.Series("end_s", np.where(ended, ended_s, np.nan)).fill_nan(None),
            ]
        )


def _placements(
    attempts: pl.DataFrame, grants: Sequence[Grant], machines: Sequence[Machine]
) -> pl.DataFrame:
    """Return one row per GPU of each row; each machine of it is one container."""
    places = Columns(row="i", machine_id="i", gpu="i", container="i")
    for row, grant in enumerate(grants):
        for container, (machine, gpus) in enumerate(grant.shares):
            for gpu in bits(gpus):
                places.add(row, machine, gpu, container)
    return attempts[places.numbers("row")].with_columns(
        places.words("machine_id", [m.machine_id for m in machines]),
        places.series("gpu"),
        places.series("container"),
    )
