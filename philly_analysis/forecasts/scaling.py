"""Compute run times on other gang sizes under a speed model, from runs on the asked gang size."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats
from philly_analysis.errors import InputError
from philly_analysis.forecasts.forecaster import Request
from philly_analysis.forecasts.run_times import FEWEST
from philly_analysis.results import count, gang_label
from philly_analysis.simulator import Allocation, Job, Speed
from philly_analysis.workload import AttemptSpec, JobSpec

MOST = 2_000
"""Most runs that are scaled, the latest runs (chosen: a second)."""


class ScaledRuns(NamedTuple):
    """Run times by gang size under a speed model.

    Attributes
    ----------
    table
        One row per gang size: gpus, jobs (scaled runs), ratio (median, of the run time over the
        recorded run time), run_s (median). Empty where the log has too few runs.
    sentence
        The runs and the model, or why there are no run times.
    """

    table: pd.DataFrame
    sentence: str


def scaled_runs(
    runs: pd.DataFrame, speed: Speed, request: Request, sizes: Sequence[float]
) -> ScaledRuns:
    """Return the run times that a job of the asked kind would have on other gang sizes.

    The runs are those of passed jobs on the asked gang size: of the asked user with at least twenty
    runs, otherwise of all users.

    Parameters
    ----------
    runs
        Runs of passed jobs; see :func:`passed_runs`.
    sizes
        Gang sizes; shares of a GPU are left out.

    Raises
    ------
    InputError
        The speed model does not depend on the gang size.
    """
    of_size = runs[runs["gpus"] == request.gpus]
    of_user = of_size[of_size["user"] == request.user]
    whose = f" of user {request.user}" if len(of_user) >= FEWEST else ""
    chosen = of_user if whose else of_size
    named = f"on {gang_label(f'{request.gpus:g}')}{whose}"
    if len(chosen) < FEWEST:
        return ScaledRuns(
            pd.DataFrame(columns=["gpus", "jobs", "ratio", "run_s"]),
            f"Completion times under a speed model need {FEWEST} passed runs {named}; the log has "
            f"{len(chosen)}.",
        )
    latest = chosen.tail(MOST)
    rng = np.random.default_rng(0)
    specs = speed.complete([_spec(row) for row in latest.to_dict("records")], rng)
    whole = [int(gpus) for gpus in sizes if gpus == int(gpus)]
    seconds = np.array([spec.run_s for spec in specs])
    rows = []
    for gpus in whole:
        ratios = 1 / _speeds(speed, specs, gpus)
        rows.append((gpus, len(specs), np.median(ratios), np.median(seconds * ratios)))
    table = pd.DataFrame(rows, columns=["gpus", "jobs", "ratio", "run_s"])
    if len(table) > 1 and (table["ratio"] == 1).all():
        raise InputError(
            f"The speed model {type(speed).__name__} does not depend on the gang size. Give the "
            "model parallelism, or a model of your own."
        )
    unnamed = int(latest["job_type"].isna().sum())
    drawn = (
        f" {count(unnamed, 'run')} have no recorded kind of job: how they scale is assumed."
        if unnamed
        else ""
    )
    return ScaledRuns(
        table,
        f"Run times on other sizes are computed from {count(len(specs), 'passed run')} {named} by "
        f"the speed model {type(speed).__name__}: {speed.note[:1].lower()}{speed.note[1:]}{drawn}",
    )


def _spec(row: Mapping[Hashable, Any]) -> JobSpec:
    """Return the job of a recorded run."""
    job_type = row["job_type"] if isinstance(row["job_type"], str) else None
    return JobSpec(
        job_id=str(row["job_id"]),
        vc="",
        user=str(row["user"]),
        gpus=int(row["gpus"]),
        submit_s=0.0,
        attempts=(AttemptSpec(float(row["run_s"])),),
        job_type=job_type,
    )


def _speeds(speed: Speed, specs: Sequence[JobSpec], gpus: int) -> Floats:
    """Return the speeds of jobs on some GPUs of one server, relative to the recorded runs."""
    allocation = Allocation(((0, (1 << gpus) - 1),), gpus)
    return np.array([speed.of(Job(spec, i), allocation, ()) for i, spec in enumerate(specs)])
