"""Verbs that simulate: simulate, sweep, experiment, advise, and the list of policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    import pandas as pd

    from philly_analysis.models import Work, WorkloadModel
    from philly_analysis.parallel import ExecutorLike
    from philly_analysis.results import Result, Results
    from philly_analysis.simulator import Failures, Outage, Policy, Speed, Utilisation, WhatIf
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import Trace, TraceLike
    from philly_analysis.workload import Ensemble, Machine

_Options = ParamSpec("_Options")


def _also_of_ensembles(
    function: Callable[Concatenate[Work, _Options], Trace],
) -> WhatIf[_Options, Trace]:
    """Declare to type checkers that a what-if of an ensemble returns a Result over its months."""
    return cast("WhatIf[_Options, Trace]", function)


@_also_of_ensembles
def simulate(
    workload: Work,
    policy: str | Policy,
    out: Path | str | None = None,
    *,
    jobs: int | None = None,
    days: float | None = None,
    knobs: Mapping[str, object] | None = None,
    load: float | None = None,
    gpus: int | None = None,
    machines: str | Sequence[Machine] | None = None,
    run_policy: RunPolicy | str | None = None,
    speed: str | Speed | None = None,
    checkpoint_s: float = 0.0,
    outages: str | Path | Failures | Sequence[Outage] | None = None,
    dedicated: bool = False,
    prerun_servers: int = 0,
    prerun_s: float = 600.0,
    retry_by_reason: bool = False,
    estimates: str = "exact",
    seed: int = 0,
    samples: bool | Utilisation = False,
    force: bool = False,
    executor: Executor | None = None,
) -> Trace:
    """Simulate a workload under a policy, and write a trace.

    Parameters
    ----------
    workload
        Folder of a trace. Or an open trace, tables in memory, a workload, an ensemble of months;
        or a model or its name, with `jobs` or `days`. Jobs that are not part of the
        workload (relation ``workload_jobs``) are excluded and counted; jobs still running at the
        end of the log run for the time known.
    policy
        Name of a policy; :func:`policies` lists them. Or a policy with its knobs set.
    out
        Folder of the new trace. For an ensemble, of its traces. By default a folder that is
        removed when the trace is closed.
    jobs
        Number of jobs to draw, of a model.
    days
        Length of the workload to draw, of a model.
    knobs
        A knob of the policy: `philly policies POLICY` lists them.
    load
        Offered load: submissions are rescaled in time. By default they stay.
    gpus
        GPUs of the target cluster, in servers of 8.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model). Or
        machines one by one; by default the workload's own. Jobs run where cluster, pool and GPU
        model match their request, and each pool is simulated by itself.
    run_policy
        Treat each job as one run, as exports do, and not attempt after attempt. Its run time is
        then first start to last end, sum of attempts, or last attempt.
    speed
        Speed of jobs; by default that of the policy's publication.
    checkpoint_s
        Seconds of work between checkpoints, to which preempted jobs return; inf: none.
    outages
        Failures: a CSV or Parquet file of outages; rates, machine:SECONDS:REPAIR; or recorded (the
        trace's own rate). Jobs that are hit return to their last checkpoint and wait again.
    dedicated
        Give gangs their servers to themselves.
    prerun_servers
        Servers on which gangs run on one GPU first, to fail early.
    prerun_s
        Seconds of that first run.
    retry_by_reason
        Do not retry users' errors.
    estimates
        Run-time estimates for policies: exact, requested (time limits) or noisy:SIGMA.
    seed
        Seed of the random numbers.
    samples
        Write per-minute GPU samples as well. Or the distribution of utilisation to draw them from
        where the trace does not have it.
    force
        Replace an existing trace at OUT.
    executor
        Where the months of an ensemble run.

    Returns
    -------
    Trace, or Result
        The trace, open; of an ensemble, the measures of its months.

    Raises
    ------
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
    >>> run = simulate("philly", "srtf", jobs=200, gpus=64)
    >>> len(run.jobs)
    200

    In a shell::

        philly simulate my-trace srtf what-if-srtf
        philly simulate my-trace tiresias what-if-las --machines 6x8 --load 0.9
    """
    from philly_analysis.api.session import folder_for, open_written
    from philly_analysis.models import jobs_of
    from philly_analysis.simulator import simulate as run

    if outages == "recorded":
        from philly_analysis.experiments import recorded_outages

        outages = recorded_outages(cast("TraceLike", workload))
    drawn = jobs_of(workload, jobs=jobs, days=days, gpus=gpus, seed=seed)
    folder = folder_for(out, "simulated")
    made: Path | Result = run(
        drawn,
        policy,
        folder,
        knobs=knobs,
        load=load,
        gpus=gpus,
        machines=machines,
        run_policy=run_policy,
        speed=speed,
        checkpoint_s=checkpoint_s,
        outages=outages,
        dedicated=dedicated,
        prerun_servers=prerun_servers,
        prerun_s=prerun_s,
        retry_by_reason=retry_by_reason,
        estimates=estimates,
        seed=seed,
        samples=samples,
        force=force,
        executor=executor,
    )
    if not isinstance(made, Path):
        return cast("Trace", made)  # of an ensemble: the decorator declares a Result
    return open_written(made, temporary=out is None)


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
    workloads: Sequence[Work] | Work,
    policies: Sequence[str] | str,
    out: Path | str | None = None,
    *,
    loads: Sequence[float] | float = (),
    seeds: int | Sequence[int] = 1,
    knobs: Sequence[tuple[str, str]] = (),
    jobs: int = 2_000,
    gpus: int | None = None,
    machines: str | None = None,
    run_policy: RunPolicy | None = None,
    speed: str | None = None,
    checkpoint_s: float = 0.0,
    outages: str | Path | Failures | None = None,
    dedicated: bool = False,
    prerun_servers: int = 0,
    prerun_s: float = 600.0,
    retry_by_reason: bool = False,
    estimates: str = "exact",
    executor: ExecutorLike = None,
) -> Result:
    """Run workloads under several policies, compared in pairs.

    Parameters
    ----------
    workloads
        Folders of traces, files of models, or names of bundled models. Or open traces, tables in
        memory, workloads and models.
    policies
        Name of a policy; the first is the baseline.
    out
        Folder of the page, the tables and the runs. ``sweep.csv`` has one row per run,
        ``changes.csv`` one per pair of policies and measure; ``runs`` keeps each run's outcome, so
        that an interrupted or extended sweep resumes. By default nothing is kept.
    loads
        Offered load, to which submissions are rescaled in time.
    seeds
        Number of workloads drawn from each model, or a list of seeds. Intervals need at least 3.
    knobs
        A knob of the policies that have it; repeat for several values. ``policy.knob`` sets that
        of one policy.
    jobs
        Jobs drawn from a model.
    gpus
        GPUs of the target cluster, in servers of 8.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model).
    run_policy
        Treat each job as one run, as exports do, and not attempt after attempt.
    speed
        Speed of jobs; by default that of the policy's publication.
    checkpoint_s
        Seconds of work between checkpoints, to which preempted jobs return; inf: none.
    outages
        Failures: a CSV or Parquet file of outages; rates, machine:SECONDS:REPAIR; or recorded
        (each trace's own rate).
    dedicated
        Give gangs their servers to themselves.
    prerun_servers
        Servers on which gangs run on one GPU first, to fail early.
    prerun_s
        Seconds of that first run.
    retry_by_reason
        Do not retry users' errors.
    estimates
        Run-time estimates for policies: exact, requested (time limits) or noisy:SIGMA.
    executor
        Where the replays run: an executor, a number of processes, or the address of a Dask
        scheduler. By default the replays run in this process. The outcome is the same.

    Raises
    ------
    UnknownNameError
        There is no such model, policy or knob.
    SimulationError
        There is nothing to run, or several seeds of a recorded trace.
    InputError
        The number of processes is not positive.

    Examples
    --------
    >>> changes = sweep("philly", ["fifo", "srtf"], jobs=200, gpus=64, seeds=2)
    >>> changes.facts.runs
    4

    In a shell::

        philly sweep philly --policies fifo --policies srtf --gpus 64 --draw 200 --seeds 3
    """
    from philly_analysis.experiments import Assumed, plan_runs
    from philly_analysis.report import sweep_page

    assumed = Assumed(
        gpus=gpus,
        machines=machines,
        run_policy=run_policy,
        speed=speed,
        checkpoint_s=checkpoint_s,
        outages=outages,
        dedicated=dedicated,
        prerun_servers=prerun_servers,
        prerun_s=prerun_s,
        retry_by_reason=retry_by_reason,
        estimates=estimates,
    )
    runs = plan_runs(
        workloads if isinstance(workloads, list | tuple) else [cast("Work", workloads)],
        [policies] if isinstance(policies, str) else policies,
        loads=[loads] if isinstance(loads, int | float) else loads,
        seeds=seeds,
        knobs=knobs,
        jobs=jobs,
        assumed=assumed,
    )
    sized = gpus is not None or machines is not None
    return sweep_page(runs, out, sized=sized, executor=executor)


def experiment(
    names: Iterable[str] | str = (),
    *,
    models: Iterable[str | Path | WorkloadModel | Ensemble] = (),
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
    servers: int = 1,
    wait_weight: float = 1.0,
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
        Time limits of careful users, in multiples of run times.
    servers
        Servers to add.
    wait_weight
        GPU hours that are worth one hour of waiting for one GPU, in the order of levers.
    months
        Months drawn for the intervals of the recommended levers; 0: the log alone is used.
    executor
        Where the replays run: an executor, a number of processes, or the address of a Dask
        scheduler. By default the replays run in this process. The outcome is the same.

    Returns
    -------
    Result
        One row per lever, best first: lever; gpu_h (GPU hours freed a month), wait_h (hours of
        waiting saved a month) and value_h (sum of both in GPU hours), with the low and high end of
        nine of ten months; gpu_pct and wait_pct (shares of all GPU hours and of all waiting); jobs
        and users (changed by the lever); later_jobs and later_users (completing later by 10 minutes
        or losing work); frontier (whether no other lever gains more and harms fewer). Without a
        replay, wait_h is not known.

    Raises
    ------
    InputError
        The trace has no jobs on known machines, its jobs were submitted within a day, or an
        assumption or the number of months is out of its bounds.
    TraceError
        The folder is not a trace.

    Examples
    --------
    >>> advise("my-trace").caveats[0].split(" (")[0]  # the policy that is replayed
    "The log's waits are reproduced by: first come, first served"

    In a shell::

        philly advise my-trace
        philly advise my-trace --idle-h 2 --servers 4 --jobs 2
    """
    from philly_analysis.experiments import Assumptions
    from philly_analysis.report import advice_page

    assumed = Assumptions(
        idle_h=idle_h,
        checkpoint_h=checkpoint_h,
        share_below_pct=share_below_pct,
        interference_pct=interference_pct,
        limit_factor=limit_factor,
        servers=servers,
        wait_weight=wait_weight,
    )
    folder = None if out is None else Path(out)
    return advice_page(trace, folder, assumed=assumed, months=months, executor=executor)
