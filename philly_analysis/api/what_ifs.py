"""Verbs that simulate: simulate, sweep, experiment, advise, and the list of policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from philly_analysis.experiments import SweepResult
    from philly_analysis.models import Work, WorkloadModel
    from philly_analysis.parallel import ExecutorLike
    from philly_analysis.results import Result, Results
    from philly_analysis.simulator import Failures, Months, Outage, Policy, Speed, Utilisation
    from philly_analysis.trace import Trace, TraceLike
    from philly_analysis.workload import Ensemble, Machine, Workload


@overload
def simulate(
    work: Ensemble,
    policy: str | Policy,
    out: Path | str | None = ...,
    *,
    cluster: int | str | Sequence[Machine] | None = ...,
    knobs: Mapping[str, object] | None = ...,
    speed: str | Speed | None = ...,
    outages: str | Path | Failures | Sequence[Outage] | None = ...,
    checkpoint_s: float = ...,
    seed: int = ...,
    samples: bool | Utilisation = ...,
    force: bool = ...,
    executor: ExecutorLike = ...,
) -> Months: ...


@overload
def simulate(
    work: TraceLike | Workload,
    policy: str | Policy,
    out: Path | str | None = ...,
    *,
    cluster: int | str | Sequence[Machine] | None = ...,
    knobs: Mapping[str, object] | None = ...,
    speed: str | Speed | None = ...,
    outages: str | Path | Failures | Sequence[Outage] | None = ...,
    checkpoint_s: float = ...,
    seed: int = ...,
    samples: bool | Utilisation = ...,
    force: bool = ...,
    executor: ExecutorLike = ...,
) -> Trace: ...


def simulate(
    work: TraceLike | Workload | Ensemble,
    policy: str | Policy,
    out: Path | str | None = None,
    *,
    cluster: int | str | Sequence[Machine] | None = None,
    knobs: Mapping[str, object] | None = None,
    speed: str | Speed | None = None,
    outages: str | Path | Failures | Sequence[Outage] | None = None,
    checkpoint_s: float = 0.0,
    seed: int = 0,
    samples: bool | Utilisation = False,
    force: bool = False,
    executor: ExecutorLike = None,
) -> Trace | Months:
    """Simulate a workload under a policy, and write a trace.

    Methods of :class:`Workload` and :class:`Ensemble` change the jobs before: offered load, one
    run per job, run-time estimates, dedicated servers, user errors that are not retried, a pre-run.

    Parameters
    ----------
    work
        Jobs to simulate: a folder of a trace, an open trace, tables in memory, a workload, or an
        ensemble of months. Jobs that are not part of the workload (relation ``workload_jobs``) are
        excluded and counted. Jobs still running at the end of the log run for the time known.
    policy
        Name of a policy, or a policy with its knobs set; :func:`policies` lists them.
    out
        Folder of the new trace, or of an ensemble's traces. By default a folder that is removed
        when the trace is closed.
    cluster
        Target cluster: a number of GPUs in servers of 8, a text, or machines. The text is like
        ``240x8,288x2`` or ``16x8/7:24:500@8=V100`` (/slices:CPUs:GB@rack=model). By default the
        cluster is the workload's own. Jobs run where cluster, pool and GPU model match their
        request, and each pool is simulated by itself.
    knobs
        Values of the policy's knobs by name; :func:`policies` lists the knobs of a policy.
    speed
        Model of the speed of jobs; by default the model of the policy's publication.
    outages
        Failures: a CSV or Parquet file of outages; rates, machine:SECONDS:REPAIR; or recorded (the
        trace's own rate). Jobs that are hit return to their last checkpoint and wait again.
    checkpoint_s
        Seconds of work between checkpoints, to which preempted jobs return; inf: none.
    seed
        Seed of the random numbers. The months of an ensemble have their own seeds.
    samples
        Write per-minute GPU samples as well. A distribution of utilisation in place of True draws
        samples where the trace has none.
    force
        Replace an existing trace at OUT.
    executor
        Executor for the months of an ensemble: a number of processes, the address of a Dask
        scheduler, or an ``Executor``. By default the months run in this process.

    Returns
    -------
    Trace or Months
        The trace, open. An ensemble returns the measures of its months, with intervals; ``months``
        has a row per month. :func:`compare` compares two.

    Raises
    ------
    ModelError
        The work is a model, which has no jobs: :func:`sample` draws some.
    WorkloadError
        The work is a list: :func:`sweep` runs several.
    UnknownNameError
        There is no such policy, knob or speed.
    SimulationError
        A value is out of its bounds, jobs cannot run on the machines, or the simulation fails.
    InputError
        Recorded outages of a trace without server failures, or an unreadable file of outages.
    TraceError
        `out` exists or cannot be written.

    Examples
    --------
    >>> run = simulate(sample("philly", jobs=200, gpus=64), "srtf", cluster=64)
    >>> run.jobs.shape[0]
    200
    """
    from functools import partial

    from philly_analysis.api.session import folder_for, open_written
    from philly_analysis.models import require_jobs_of
    from philly_analysis.parallel import open_executor
    from philly_analysis.simulator import simulate as run
    from philly_analysis.simulator import simulate_ensemble
    from philly_analysis.workload import Ensemble

    require_jobs_of(work)
    if outages == "recorded":
        from philly_analysis.experiments import recorded_outages

        outages = recorded_outages(cast("TraceLike", work))
    folder = Path(folder_for(out, "simulated"))
    options = partial(
        run,
        policy=policy,
        cluster=cluster,
        knobs=knobs,
        speed=speed,
        outages=outages,
        checkpoint_s=checkpoint_s,
        samples=samples,
        force=force,
    )
    if isinstance(work, Ensemble):
        with open_executor(executor) as opened:
            return simulate_ensemble(work, folder, options, opened)
    return open_written(options(work, out=folder, seed=seed), temporary=out is None)


def policies(name: str | None = None) -> pd.DataFrame:
    """List the scheduling policies, or the knobs of one.

    Parameters
    ----------
    name
        Name of a policy whose knobs are listed; by default all policies are listed.

    Returns
    -------
    pandas.DataFrame
        One row per policy: policy, what, source; or one row per knob: knob, default, unit,
        allowed, meaning.

    Raises
    ------
    UnknownNameError
        There is no such policy.

    Examples
    --------
    In a shell::

        philly policies
        philly policies tiresias
    """
    from philly_analysis.simulator.policies import list_policies

    return list_policies(name)


def sweep(
    work: Sequence[Work] | Work,
    policies: Sequence[str | Policy] | str | Policy,
    out: Path | str | None = None,
    *,
    cluster: int | str | Sequence[Machine] | None = None,
    knobs: Mapping[str, object] | None = None,
    loads: float | Sequence[float] = (),
    seeds: int | Iterable[int] | None = None,
    jobs: int | None = None,
    days: float | None = None,
    warmup: float = 0.0,
    speed: str | Speed | None = None,
    outages: str | Path | Failures | Sequence[Outage] | None = None,
    checkpoint_s: float = 0.0,
    executor: ExecutorLike = None,
) -> SweepResult:
    """Run workloads under several policies, compared in pairs.

    Parameters
    ----------
    work
        Work to simulate, or a list of several: a model or its name, an ensemble of months, a
        workload, or a trace. Workloads of one name, such as ``list(ensemble)``, are the months of
        one work.
    policies
        Names of policies, or policies with their knobs set. The first is the baseline.
    out
        Folder of the page, the tables and the runs. ``sweep.csv`` has one row per run,
        ``changes.csv`` one per policy and measure, ``jobs.csv`` one per job. ``runs`` keeps each
        run's outcome, so that an interrupted or extended sweep resumes. By default nothing is kept.
    cluster
        Target cluster, as in :func:`simulate`. Jobs of a model are drawn for its number of GPUs.
    knobs
        Values of knobs by name, for the policies that have the knob. ``policy.knob`` sets the knob
        of one policy. Each value of a list is simulated; a tuple is one value.
    loads
        Offered loads, or one: the rate of submissions changes, days stay days
        (:meth:`Workload.with_load`).
    seeds
        Seeds of the workloads drawn from a model, or their number (``3``: the seeds 0, 1 and 2); by
        default 0. Intervals need at least 3 seeds. An ensemble has its own seeds.
    jobs
        Number of jobs drawn from a model, by default 2,000 unless `days` is given.
    days
        Length of the workloads drawn from a model, in days.
    warmup
        Share of the time of submissions that is not measured, at its start. The time after the last
        submission is never measured: see :func:`philly_analysis.workload.measures`.
    speed
        Model of the speed of jobs; by default the model of the policy's publication.
    outages
        Failures: a CSV or Parquet file of outages; rates, machine:SECONDS:REPAIR; or recorded
        (each trace's own rate).
    checkpoint_s
        Seconds of work between checkpoints, to which preempted jobs return; inf: none.
    executor
        Executor of the runs: a number of processes, the address of a Dask scheduler, or an
        ``Executor``. By default the runs are in this process. The outcome is the same.

    Returns
    -------
    SweepResult
        One row per workload, load, policy and measure: mean with its interval, difference to the
        baseline with its interval (low, high), and percent change (low_pct, high_pct). ``runs``
        has one row per run and month, and ``jobs`` the completion time of each job by policy.
        ``against("srtf")`` takes another baseline, and ``seeds_for(5)`` says how many seeds make
        intervals of ± 5 %.

    Raises
    ------
    UnknownNameError
        There is no such model, policy or knob.
    SimulationError
        There is nothing to run, the warm-up is not a share below 1, a recorded trace or an
        ensemble is given seeds, or no work is a model and jobs or days are given.
    WorkloadError
        The seeds are not different integers, or a load is not above 0.
    InputError
        The executor cannot be opened.

    Examples
    --------
    >>> changes = sweep("philly", ["fifo", "srtf"], jobs=200, cluster=64, seeds=range(2))
    >>> changes.facts.runs
    4
    """
    from philly_analysis.experiments import RunOptions, plan_runs
    from philly_analysis.report import sweep_page

    runs = plan_runs(
        work if isinstance(work, list | tuple) else [cast("Work", work)],
        policies if isinstance(policies, list | tuple) else [cast("str | Policy", policies)],
        cluster=cluster,
        knobs=knobs,
        loads=loads,
        seeds=seeds,
        jobs=jobs,
        days=days,
        warmup=warmup,
        options=RunOptions(speed=speed, outages=outages, checkpoint_s=checkpoint_s),
    )
    return sweep_page(runs, out, is_sized=cluster is not None, executor=executor)


def experiment(
    names: Iterable[str] | str = (),
    *,
    models: Iterable[str | Path | Trace | WorkloadModel | Ensemble] = (),
    seeds: int | None = None,
    out: Path | str | None = None,
    executor: ExecutorLike = None,
) -> Results:
    """Decompose the gains of guidelines, Synergy, Amoeba, AntMan.

    Parameters
    ----------
    names
        Names of experiments; by default all but conclusions. ``conclusions`` compares published
        gains under the literature's generator with gains under models of real clusters, on a page
        of its own.
    models
        File of a model, name of a bundled model, or a trace, taken window by window. In Python
        also ensembles, whose months are taken as they are. By default ``literature``, which papers
        assume, and ``philly``; ``conclusions`` adds the models of two more clusters.
    seeds
        Draws per model: months of a model, windows of a trace. By default the experiment has the
        number, and an ensemble is taken whole.
    out
        Folder of reports. The page is ``out/<names>/report.html``, or ``out/seeds`` for all
        experiments; ``conclusions`` writes ``verdicts.csv`` as well. By default no page is written.
    executor
        Where the replays run: an executor, a number of processes, or the address of a Dask
        scheduler. By default the replays run in this process. The outcome is the same.

    Returns
    -------
    Results
        One Result per experiment and model, by name. ``.save(folder)`` writes the page, with a
        chapter per experiment and a section per model.

    Raises
    ------
    UnknownNameError
        There is no such experiment or model.
    InputError
        ``conclusions`` is named together with others.

    Examples
    --------
    In a shell::

        philly experiment guidelines --model philly --seeds 2
    """
    from philly_analysis.report import experiment_page

    return experiment_page(
        [names] if isinstance(names, str) else names,
        models=models,
        seeds=seeds,
        out=None if out is None else Path(out),
        executor=executor,
    )


def advise(
    trace: TraceLike,
    out: Path | str | None = None,
    *,
    idle_h: float = 4.0,
    checkpoint_h: float = 1.0,
    share_below_pct: float = 30.0,
    interference_pct: float = 5.0,
    limit_factor: float = 1.5,
    raise_factor: float = 1.5,
    repair_days: float = 7.0,
    servers: int = 1,
    value: str = "total",
    months: int = 6,
    executor: ExecutorLike = None,
) -> Result:
    """Recommend what a cluster should change, with its gain.

    The recorded jobs are replayed under candidate policies. If a policy reproduces the recorded
    waits, each lever is replayed against that policy. Otherwise advice on scheduling is withheld,
    and the advice is limited to the GPU hours that other levers free.

    Parameters
    ----------
    trace
        Trace of the cluster: a folder, an open Trace, or tables in memory.
    out
        Folder of the page. By default no page is written.
    idle_h
        Hours without computing after which jobs are ended.
    checkpoint_h
        Hours between checkpoints.
    share_below_pct
        Mean utilisation below which jobs get half their GPUs.
    interference_pct
        Share of its speed that a job loses beside another, or on more servers than it needs.
    limit_factor
        Largest time limits of careful users, in multiples of run times.
    raise_factor
        Factor by which the limits that bind are raised.
    repair_days
        Days from draining a server for repair until the server returns.
    servers
        Servers to add.
    value
        Measure of gains, which orders and tests the levers: `total` (GPU hours freed plus GPU
        hours of waiting saved), `freed` (GPU hours freed), or `waiting` (GPU hours of waiting
        saved).
    months
        Months drawn for the intervals of the recommended levers; 0: the log alone is used.
    executor
        Where the replays run: an executor, a number of processes, or the address of a Dask
        scheduler. By default the replays run in this process. The outcome is the same.

    Returns
    -------
    Result
        One row per lever, best first: lever; gpu_h (GPU hours freed a month), wait_h (hours of
        waiting saved a month) and value_h (gain by the measure, in GPU hours a month), with the low
        and high end of nine of ten months; gpu_pct and wait_pct (shares of all GPU hours and of all
        waiting); jobs and users (changed by the lever); later_jobs and later_users (completing
        later by 10 minutes or losing work); frontier (whether no other lever gains more and harms
        fewer). Without a replay, wait_h is not known.

    Raises
    ------
    InputError
        The trace has no jobs on known machines, its jobs were submitted within a day, or an
        assumption or the number of months is out of its bounds.
    OutputError
        The folder has a suffix that no format has.
    TraceError
        The folder is not a trace.

    Examples
    --------
    >>> advise("my-trace").caveats[0].split(". ")[0]  # the policy that is replayed
    "The log's waits are reproduced by: first come, first served"

    In a shell::

        philly advise my-trace
        philly advise my-trace --idle-h 2 --servers 4 --jobs 2
        philly advise my-trace --value freed --repair-days 3
    """
    from philly_analysis.experiments import Assumptions
    from philly_analysis.report import advice_page

    assumed = Assumptions(
        idle_h=idle_h,
        checkpoint_h=checkpoint_h,
        share_below_pct=share_below_pct,
        interference_pct=interference_pct,
        limit_factor=limit_factor,
        raise_factor=raise_factor,
        repair_days=repair_days,
        servers=servers,
        value=value,
    )
    folder = None if out is None else Path(out)
    return advice_page(trace, folder, assumed=assumed, months=months, executor=executor)
