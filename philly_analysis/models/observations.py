"""What models are fitted to: small frames, gathered from a trace or made from arrays."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import ArrayLike

from philly_analysis.errors import ModelError
from philly_analysis.results import count
from philly_analysis.trace import Trace
from philly_analysis.workload import account, excluded_jobs

_JOB_COLUMNS = (
    "submitted_s",
    "vc",
    "user",
    "gpus",
    "status",
    "run_s",
    "censored",
    "attempts",
    "last_share",
)

_READ = (*_JOB_COLUMNS, "flag")
_USABLE = "flag is null and gpus >= 1"


def _none(*columns: str) -> pd.DataFrame:
    return pd.DataFrame({c: pd.Series(dtype=float) for c in columns})


@dataclass(frozen=True, slots=True)
class Observations:
    """Jobs, and what else is known about them.

    Attributes
    ----------
    jobs
        One row per job with a gang of at least one GPU, by submission: submitted_s (Unix
        seconds), vc, user, gpus, status, run_s (null: not known or not trusted), censored,
        attempts, last_share (of a retried job's run time).
    left_out
        Jobs that are not here, with the reason, as sentences.
    failures, spreads, use
        As `Failures.fit`, `Locality.fit` and `Utilisation.fit` take them; may be empty.
    machines
        Columns gpus and machines: servers by GPU count; may be empty.
    run_policy
        How attempts became a job's run time.
    """

    name: str
    jobs: pd.DataFrame
    left_out: tuple[str, ...] = ()
    failures: pd.DataFrame = field(default_factory=lambda: _none("reason", "gpus", "run_s"))
    spreads: pd.DataFrame = field(default_factory=lambda: _none("gpus", "servers", "attempts"))
    use: pd.DataFrame = field(
        default_factory=lambda: _none("gpus", "servers", "status", "bin", "minutes")
    )
    machines: pd.DataFrame = field(default_factory=lambda: _none("gpus", "machines"))
    run_policy: str = "sum"
    synthetic: bool = False

    def __post_init__(self) -> None:
        missing = set(_JOB_COLUMNS) - set(self.jobs.columns)
        if missing:
            raise ModelError(f"jobs lack the columns {', '.join(sorted(missing))}")

    @classmethod
    def of_jobs(
        cls,
        name: str,
        submitted_s: ArrayLike,
        gpus: ArrayLike,
        run_s: ArrayLike,
        *,
        vc: ArrayLike | None = None,
        user: ArrayLike | None = None,
        status: ArrayLike | None = None,
        censored: ArrayLike | None = None,
        attempts: ArrayLike | None = None,
    ) -> Self:
        """Make observations from arrays of one length; what is not given is not known.

        Jobs with fewer than one GPU are left out, and counted.
        """
        n = np.size(submitted_s)
        frame = pd.DataFrame(
            {
                "submitted_s": np.asarray(submitted_s, float),
                "vc": np.full(n, "") if vc is None else np.asarray(vc, str),
                "user": pd.Series([None] * n, dtype=object) if user is None else np.asarray(user),
                "gpus": np.asarray(gpus),
                "status": pd.Series([None] * n, dtype=object) if status is None else status,
                "run_s": np.asarray(run_s, float),
                "censored": np.zeros(n, bool) if censored is None else np.asarray(censored, bool),
                "attempts": np.ones(n, int) if attempts is None else np.asarray(attempts),
                "last_share": np.nan,
                "flag": pd.Series([None] * n, dtype=object),
            }
        )
        return cls._checked(name, frame)

    @classmethod
    def of_trace(cls, trace: Trace) -> Self:
        """Gather what a trace holds.

        Raises
        ------
        MissingTableError
            The trace has no jobs or attempts.
        """
        frames = {"jobs": trace.answer("model_jobs").select(*_READ).df()}
        for name in ("failures", "spreads", "use", "machines"):
            if trace.has(f"model_{name}"):
                frames[name] = trace.answer(f"model_{name}").df()
        told = trace.answer("workload_jobs").pl()
        mine = told.filter(pl.col("left_out").is_null())
        return cls._checked(
            trace.manifest.name,
            frames.pop("jobs"),
            account=account(
                mine.height, mine["gpu_h"].sum(), int(mine["censored"].sum()), excluded_jobs(told)
            ),
            run_policy=str(trace.run_policy),
            synthetic=trace.manifest.synthetic,
            **frames,
        )

    @classmethod
    def latest_of_trace(cls, trace: Trace, most: int) -> tuple[Self, int]:
        """Gather the last jobs of a trace that a part can use, and no more about them.

        Returns
        -------
        tuple
            The observations, and how many jobs the trace has that a part can use.

        Raises
        ------
        MissingTableError
            The trace has no jobs or attempts.
        """
        [(every,)] = trace.answer("jobs").filter(_USABLE).count("*").fetchall()
        # the last first, so that of jobs of the same moment the same ones are taken each time
        last = trace.answer("model_jobs").filter(_USABLE).order("submitted_s desc, job_id desc")
        jobs = last.limit(most).select(*_READ).df()[::-1]
        told = cls._checked(
            trace.manifest.name,
            jobs,
            run_policy=str(trace.run_policy),
            synthetic=trace.manifest.synthetic,
        )
        return told, every

    @classmethod
    def _checked(
        cls, name: str, jobs: pd.DataFrame, *, account: tuple[str, ...] = (), **rest: object
    ) -> Self:
        """Leave out the jobs that no part can use, and say how many."""
        reason = jobs["flag"].where(jobs["gpus"].fillna(0) >= 1, "no GPUs, or not known")
        kept = jobs[reason.isna()].sort_values("submitted_s", kind="stable").reset_index(drop=True)
        kept["gpus"] = kept["gpus"].astype(int)
        kept["censored"] = kept["censored"].astype(bool)
        said = list(account)
        if not said and len(kept) < len(jobs):
            said += [
                f"{n:,} of {len(jobs):,} jobs are left out: {why}."
                for why, n in reason.value_counts().items()
            ]
        if lacking := int(kept["run_s"].isna().sum()):
            said.append(
                f"{count(lacking, 'job')} without a trusted run time count in arrivals and gang "
                "sizes only."
            )
        return cls(name, kept, tuple(said), **rest)  # type: ignore[arg-type]

    def where(self, keep: ArrayLike) -> Self:
        """Return the observations of some of the jobs (a mask of shape (n,)), and nothing else."""
        return type(self)(
            self.name,
            self.jobs[np.asarray(keep, bool)].reset_index(drop=True),
            run_policy=self.run_policy,
            synthetic=self.synthetic,
        )

    @property
    def timed(self) -> pd.DataFrame:
        """The jobs whose run time is known."""
        return self.jobs[self.jobs["run_s"].notna()]
