"""Observations to fit models to, from a trace or from arrays."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import ArrayLike

from philly_analysis.errors import ModelError
from philly_analysis.results import count
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Trace, TraceLike
from philly_analysis.workload import account, excluded_jobs

_JOBS = (
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
_USABLE = "flag is null and gpus >= 1"


def _empty(*columns: str) -> pd.DataFrame:
    return pd.DataFrame(columns=columns, dtype=float)


@contextmanager
def open_with_run_policy(
    trace: TraceLike, run_policy: RunPolicy | str | None = None
) -> Iterator[Trace]:
    """Open a trace with a run policy, by default the sum of attempts, however it was opened.

    Raises
    ------
    UnknownNameError
        The run policy is not known.
    TraceError
        The folder is not a trace.
    """
    policy = run_policy or RunPolicy.SUM
    if isinstance(trace, Trace) and trace.run_policy == policy:
        yield trace
        return
    with Trace(trace.path if isinstance(trace, Trace) else trace, run_policy=policy) as opened:
        yield opened


@dataclass(frozen=True, slots=True)
class Observations:
    """Jobs, and other observations of the same cluster.

    Attributes
    ----------
    jobs
        One row per job with a gang of at least one GPU, by submission: submitted_s (Unix
        seconds), vc, user, gpus, status, run_s (null: unknown or not trusted), censored,
        attempts, last_share (of a retried job's run time).
    exclusions
        Sentences on excluded jobs, with the reason.
    failures, spreads, use
        Data of `Failures.fit`, `Locality.fit` and `Utilisation.fit`; may be empty.
    machines
        Columns gpus and machines: servers by GPU count; may be empty.
    run_policy
        How attempts count in a job's run time.
    """

    name: str
    jobs: pd.DataFrame
    exclusions: tuple[str, ...] = ()
    failures: pd.DataFrame = field(default_factory=lambda: _empty("reason", "gpus", "run_s"))
    spreads: pd.DataFrame = field(default_factory=lambda: _empty("gpus", "servers", "attempts"))
    use: pd.DataFrame = field(
        default_factory=lambda: _empty("gpus", "servers", "status", "bin", "minutes")
    )
    machines: pd.DataFrame = field(default_factory=lambda: _empty("gpus", "machines"))
    run_policy: str = "sum"
    synthetic: bool = False

    def __post_init__(self) -> None:
        missing = set(_JOBS) - set(self.jobs.columns)
        if missing:
            raise ModelError(f"jobs lack the columns {', '.join(sorted(missing))}")

    def unknown(self) -> tuple[str, ...]:
        """Return sentences on what the observations do not contain."""
        jobs = self.jobs
        unknown = {
            "who submitted a job: users repeat as their virtual cluster does": (
                jobs["user"].isna().all()
            ),
            "virtual clusters": (jobs["vc"] == "").all(),
            "how jobs ended, and their retries": jobs["status"].isna().all(),
            "why attempts failed": self.failures.empty,
            "on how many servers gangs ran": self.spreads.empty,
            "how busy GPUs were": self.use.empty,
            "the size of the cluster": self.machines.empty,
        }
        return tuple(f"Not known: {what}." for what, missing in unknown.items() if missing)

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
        """Return observations from arrays of one length; absent arrays are unknown.

        Jobs with fewer than one GPU are excluded and counted.
        """
        null = pd.Series([None] * np.size(submitted_s), dtype=object)
        frame = pd.DataFrame(
            {
                "submitted_s": np.asarray(submitted_s, float),
                "vc": "" if vc is None else np.asarray(vc, str),
                "user": null if user is None else np.asarray(user),
                "gpus": np.asarray(gpus),
                "status": null if status is None else status,
                "run_s": np.asarray(run_s, float),
                "censored": False if censored is None else np.asarray(censored, bool),
                "attempts": 1 if attempts is None else np.asarray(attempts),
                "last_share": np.nan,
                "flag": null,
            }
        )
        return cls._usable(name, frame)

    @classmethod
    def of_trace(cls, trace: Trace) -> Self:
        """Return the observations in a trace.

        Raises
        ------
        MissingTableError
            The trace has no jobs or attempts.
        """
        frames = {"jobs": trace.answer("model_jobs").select(*_JOBS, "flag").df()}
        for name in ("failures", "spreads", "use", "machines"):
            if trace.has(f"model_{name}"):
                frames[name] = trace.answer(f"model_{name}").df()
        every = trace.answer("workload_jobs").pl()
        mine = every.filter(pl.col("left_out").is_null())
        counts = (mine.height, mine["gpu_h"].sum(), int(mine["censored"].sum()))
        sentences = account(*counts, excluded_jobs(every))
        return cls._of_trace(trace, frames.pop("jobs"), sentences, **frames)

    @classmethod
    def latest_of_trace(cls, trace: Trace, most: int) -> tuple[Self, int]:
        """Return the latest usable jobs of a trace, without other observations.

        Returns
        -------
        tuple
            The observations, and the number of usable jobs in the trace.

        Raises
        ------
        MissingTableError
            The trace has no jobs or attempts.
        """
        usable = trace.answer("jobs").filter(_USABLE)
        [(every,)] = usable.count("*").fetchall()
        # jobs of one moment are taken in a fixed order
        latest = usable.order("submitted_at desc, job_id desc").limit(most).select("job_id")
        rows = trace.answer("model_jobs").join(latest, "job_id", "semi")
        jobs = rows.order("submitted_s, job_id").select(*_JOBS, "flag").df()
        return cls._of_trace(trace, jobs), every

    @classmethod
    def _of_trace(
        cls, trace: Trace, jobs: pd.DataFrame, account: Iterable[str] = (), **fields: object
    ) -> Self:
        manifest = trace.manifest
        fields |= {"run_policy": str(trace.run_policy), "synthetic": manifest.synthetic}
        return cls._usable(manifest.name, jobs, account, **fields)

    @classmethod
    def _usable(
        cls, name: str, jobs: pd.DataFrame, account: Iterable[str] = (), **fields: object
    ) -> Self:
        """Exclude and count the unusable jobs."""
        reason = jobs["flag"].where(jobs["gpus"].fillna(0) >= 1, "no GPUs, or not known")
        kept = jobs[reason.isna()].sort_values("submitted_s", kind="stable").reset_index(drop=True)
        kept["gpus"] = kept["gpus"].astype(int)
        kept["censored"] = kept["censored"].astype(bool)
        sentences = list(account) or [
            f"{n:,} of {len(jobs):,} jobs are excluded: {why}."
            for why, n in reason.value_counts().items()
        ]
        if lacking := int(kept["run_s"].isna().sum()):
            sentences.append(
                f"{count(lacking, 'job')} without a trusted run time count in arrivals and gang "
                "sizes only."
            )
        return cls(name, kept, tuple(sentences), **fields)  # type: ignore[arg-type]

    def where(self, keep: ArrayLike) -> Self:
        """Return the observations of some of the jobs only (a mask of shape (n,))."""
        return type(self)(
            self.name,
            self.jobs[np.asarray(keep, bool)].reset_index(drop=True),
            run_policy=self.run_policy,
            synthetic=self.synthetic,
        )

    @property
    def timed(self) -> pd.DataFrame:
        """Jobs with a known run time."""
        return self.jobs[self.jobs["run_s"].notna()]
