"""Return the jobs to run from whatever holds some: a trace, a workload, a model."""

from pathlib import Path
from typing import cast

from philly_analysis.errors import ModelError, UnknownNameError, WorkloadError
from philly_analysis.models.library import load_model, shipped
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.trace import MANIFEST, TraceLike, fetch_trace
from philly_analysis.workload import Ensemble, Workload

Work = TraceLike | Workload | Ensemble | WorkloadModel
"""Jobs: a trace, a workload, an ensemble of months, or a model or its name, to draw from."""


def jobs_of(
    work: Work,
    *,
    jobs: int | None = None,
    days: float | None = None,
    gpus: int | None = None,
    seed: int = 0,
) -> TraceLike | Workload | Ensemble:
    """Return work with its jobs: of a model, a drawn workload.

    Parameters
    ----------
    jobs, days
        Number of jobs to draw, and length; only of a model.
    gpus
        Largest gang to draw.
    seed
        Seed of the draw.

    Raises
    ------
    ModelError
        A model has neither jobs nor days; or jobs or days stand beside jobs that exist.
    UnknownNameError
        There is neither a trace, a model's file, nor a shipped model of that name.
    """
    model = model_of(work)
    if model is not None:
        if jobs is None and days is None:
            raise ModelError(f"{model.name} is a model: give jobs=1000 or days=28 to draw.")
        return model.sample(jobs, days=days, gpus=gpus, seed=seed)
    if jobs is not None or days is not None:
        raise ModelError("jobs and days are of a model, to draw from; this work has its own jobs.")
    return cast("TraceLike | Workload | Ensemble", work)


def require_jobs_of(work: object) -> None:
    """Raise ModelError if the work is a model or its name, which has no jobs.

    Raises
    ------
    UnknownNameError
        There is neither a trace, a model's file, nor a shipped model of that name.
    WorkloadError
        The work is a list.
    """
    if isinstance(work, list | tuple):
        raise WorkloadError(
            f"simulate runs one workload, or an ensemble, not a {type(work).__name__} of "
            f"{len(work)}: sweep(work, policies) runs several."
        )
    if (model := model_of(cast("Work", work))) is not None:
        raise ModelError(
            f"{model.name} is a model, which has no jobs. Draw some first: "
            f'sample("{model.name}", jobs=1000).'
        )


def one_workload(
    work: Work, *, jobs: int | None = None, gpus: int | None = None, seed: int = 0
) -> TraceLike | Workload:
    """Return work with its jobs, which must be of one period.

    Raises
    ------
    WorkloadError
        An ensemble of several periods.
    """
    workloads = jobs_of(work, jobs=jobs, gpus=gpus, seed=seed)
    if isinstance(workloads, Ensemble):
        raise WorkloadError(f"{workloads!r} has several months: give one of them, ensemble[0].")
    return workloads


def model_of(work: Work) -> WorkloadModel | None:
    """Return the model that work is or names; None: work is no model."""
    if isinstance(work, WorkloadModel):
        return work
    if not isinstance(work, str | Path):
        return None
    path = fetch_trace(work)
    if (path / MANIFEST).is_file():
        return None
    if str(work) in shipped() or path.is_file():
        return load_model(work)
    if path.is_dir() or "/" in str(work):
        return None  # opening it as a trace raises the error
    raise UnknownNameError("trace or model", str(work), shipped())


def as_model(work: object) -> WorkloadModel | None:
    """Return the model that work is, has the file or the name of; None: work may be a trace.

    Unlike :func:`model_of` it prefers any folder to a bundled model of that name.
    """
    if isinstance(work, WorkloadModel):
        return work
    if not isinstance(work, str | Path) or Path(work).is_dir():
        return None
    is_file = Path(work).suffix == ".json" and Path(work).is_file()
    return load_model(work) if is_file or str(work) in shipped() else None
