"""Verbs for workloads: fit a model, draw jobs from a model, export jobs, and lists of choices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from philly_analysis.exports import Exported
    from philly_analysis.models import Work, WorkloadModel
    from philly_analysis.study import Estimates, Gangs, RunPolicy
    from philly_analysis.trace import TraceLike
    from philly_analysis.workload import Machine, Workload


def fit(
    trace: TraceLike,
    model: Path | str | None = None,
    *,
    family: str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> WorkloadModel:
    """Fit a workload model to a trace, or to raw logs.

    Parameters
    ----------
    trace
        Folder of a trace, or raw logs of a detectable source. In Python also an open Trace, or
        tables in memory.
    model
        File to write the model to.
    family
        Distribution family of all run times; by default chosen by fit.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default ``sum``, the service that a job needs, whatever is given: waits between attempts
        are no demand.

    Raises
    ------
    ModelError
        There is too little to fit, or the file cannot be written.
    TraceError, InputError
        There is neither a trace nor a raw archive.
    UnknownNameError
        There is no such run policy.

    Examples
    --------
    >>> model = fit("my-trace")
    >>> model.job_size.pmf([1, 8]).round(2)
    array([0.87, 0.03])
    >>> low, high = model.duration(gpus=8).interval(0.9)
    >>> model.duration(gpus=8).rvs(5, random_state=1).shape
    (5,)

    In a shell::

        philly fit my-trace model.json
    """
    from philly_analysis.ingest import raw_as_trace
    from philly_analysis.models import Observations, WorkloadModel, open_with_run_policy
    from philly_analysis.progress import step

    if model is not None:
        _check_writable(Path(model))
    with (
        raw_as_trace(trace) as made,
        open_with_run_policy(made, run_policy) as source,
    ):
        with step("1 of 2: reading the jobs"):
            jobs = Observations.of_trace(source)
        with step(f"2 of 2: fitting distributions to {len(jobs.jobs):,} jobs"):
            fitted = WorkloadModel.fit(jobs, family=family)
    if model is not None:
        fitted.save(model)
    return fitted


def _check_writable(file: Path) -> None:
    """Raise a ModelError if a model cannot be written to a file, before minutes of fitting."""
    from philly_analysis.errors import ModelError

    folder = file.absolute().parent
    if file.is_dir():
        raise ModelError(f"the model cannot be written to {file}, a folder: name a file in it.")
    if not folder.is_dir():
        raise ModelError(f"the model cannot be written to {file}: there is no folder {folder}.")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise ModelError(f"the model cannot be written to {file}: no permission.")


def models() -> pd.DataFrame:
    """List the bundled workload models.

    Returns
    -------
    pandas.DataFrame
        One row per model: model, jobs (number of jobs that the model was fitted to), fitted_on.

    Examples
    --------
    In a shell::

        philly models
    """
    from philly_analysis.models import models as list_models

    return list_models()


def sample(
    model: str | Path | WorkloadModel,
    out: Path | str | None = None,
    *,
    jobs: int | None = None,
    days: float | None = None,
    load: float = 1.0,
    gpus: int | None = None,
    offered: float | None = None,
    seed: int = 0,
    variation: str = "month",
    force: bool = False,
) -> Workload:
    """Draw a synthetic workload from a model, as a trace.

    Parameters
    ----------
    model
        File of a model, or the name of a bundled model.
    out
        Folder of the new trace.
    jobs
        Number of jobs.
    days
        Length of the workload in days.
    load
        Factor on the fitted arrival rate.
    gpus
        GPUs of the target cluster.
    offered
        Offered load on the target cluster, in place of `load`.
    seed
        Seed of the random numbers. In Python ``load_model(model).sample(seeds=range(3))`` draws
        several months, an :class:`Ensemble`.
    variation
        Variation between periods: month (each seed draws another month) or none. See
        :meth:`WorkloadModel.sample`.
    force
        Replace an existing trace at OUT.

    Raises
    ------
    UnknownNameError
        There is no such model or variation.
    ModelError
        There are neither jobs nor days, a number is not positive, no gang fits the cluster, or
        other options determine the offered load already.
    TraceError
        The folder exists or cannot be written.

    Examples
    --------
    >>> len(sample("philly", jobs=1000, seed=1))
    1000

    In a shell::

        philly sample philly synthetic --jobs 1000 --gpus 64 --seed 1
    """
    from philly_analysis.models import WorkloadModel, load_model

    drawn = (model if isinstance(model, WorkloadModel) else load_model(model)).sample(
        jobs=jobs,
        days=days,
        load=load,
        gpus=gpus,
        offered=offered,
        seed=seed,
        variation=variation,
    )
    if out is not None:
        drawn.to_trace(out, source="sample", force=force)
    return drawn


def export(
    workload: Work,
    format: str,  # noqa: A002 - the word of the command line
    file: Path | str | None = None,
    *,
    jobs: int | None = None,
    dialect: str | None = None,
    load: float | None = None,
    seed: int = 0,
    gpus: int | None = None,
    machines: str | Sequence[Machine] | None = None,
    throughputs: Path | str | None = None,
    run_policy: RunPolicy | str = "sum",
    gangs: Gangs | str = "drop",
    estimates: Estimates | str | None = None,
    partial: bool = False,
    force: bool = False,
) -> Exported:
    """Write a workload in another tool's format.

    The file (or folder) replaces its target once it passes every byte-level rule of the format;
    ``<file>.json`` beside it lists the assumptions.

    Parameters
    ----------
    workload
        Jobs to export: a folder of a trace, or a model with `jobs`. In Python also an open Trace,
        tables in memory, or a Workload.
    format
        Name of a format; :func:`formats` lists them.
    file
        File or folder to write; by default a folder that is removed at the end of the session.
    jobs
        Number of jobs to draw from a model.
    dialect
        Variant of the format; by default the first variant.
    load
        Offered load on the target cluster: the rate of submissions changes, days stay days. By
        default submissions stay as they are.
    seed
        Seed of the random numbers.
    gpus
        GPUs of the target cluster, in servers of 8.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model). In Python
        also a sequence of machines. By default the workload's own machines, or assumed machines.
    throughputs
        File of measured speeds that the consumer reads, for dialects that need speeds. The file is
        not copied.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        With the sum, waits between attempts are left to the simulator that reads the file.
    gangs
        Treatment of gangs whose size the reader refuses: drop them, round the size, or split the
        job. Rounding keeps GPU-seconds.
    estimates
        Run-time estimates for the scheduler, where the format has a field for them. ``rounded``:
        overestimated and rounded up, as users request time; ``history``: from the user's earlier
        jobs. By default the format decides.
    partial
        Write even if the reader accepts under 99 % of the jobs or of the GPU time.
    force
        Replace an existing export.

    Raises
    ------
    ExportError
        There are no jobs, the workload lacks what the format needs, the reader would accept too
        little, or a file is missing, exists, or cannot be written.
    UnknownNameError
        There is no such format, dialect, run policy, treatment of gangs or kind of estimates.

    Examples
    --------
    >>> print(export("my-trace", "swf", "jobs.swf"))  # doctest: +ELLIPSIS
    300 jobs of philly-sample-fifo in jobs.swf (swf, swf)
    AccaSim accepts 300 of 300 jobs, ...

    In a shell::

        philly export my-trace swf workload.swf
    """
    from philly_analysis.api.session import folder_for
    from philly_analysis.exports import ExportOptions
    from philly_analysis.exports import export as write
    from philly_analysis.models import one_workload

    options = ExportOptions(
        dialect=dialect,
        load=load,
        seed=seed,
        gpus=gpus,
        machines=machines,
        throughputs=throughputs,
        run_policy=run_policy,
        gangs=gangs,
        estimates=estimates,
        partial=partial,
        force=force,
    )
    drawn = one_workload(workload, jobs=jobs, gpus=gpus, seed=seed)
    return write(drawn, format, folder_for(file, format), options)


def formats() -> pd.DataFrame:
    """List the formats that a workload can be exported to.

    Returns
    -------
    pandas.DataFrame
        One row per dialect, a format's default first: format, dialect, reader, carries,
        not_carried, needs (file of the consumer), tried_with (repository and commit of the reader
        with which the sidecar's command was run).

    Examples
    --------
    In a shell::

        philly formats
    """
    from philly_analysis.exports import list_formats

    return list_formats()
