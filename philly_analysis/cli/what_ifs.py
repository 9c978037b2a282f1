"""Commands of what-ifs, whose options are methods of a workload and parameters in Python."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from philly_analysis import api

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from philly_analysis.parallel import ExecutorLike
    from philly_analysis.results import Result
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import Trace
    from philly_analysis.workload import Changes


def simulate(
    workload: Path,
    policy: str,
    out: Path,
    *,
    jobs: int | None = None,
    days: float | None = None,
    knobs: Sequence[str] = (),
    load: float | None = None,
    gpus: int | None = None,
    machines: str | None = None,
    run_policy: RunPolicy | None = None,
    speed: str | None = None,
    checkpoint_s: float = 0.0,
    outages: str | None = None,
    dedicated: bool = False,
    prerun_servers: int = 0,
    prerun_s: float = 600.0,
    retry_by_reason: bool = False,
    estimates: str = "exact",
    seed: int = 0,
    samples: bool = False,
    force: bool = False,
) -> Trace:
    """Simulate a workload under a policy, and write a trace.

    Parameters
    ----------
    workload
        Folder of a trace, or a model or its name with --jobs or --days.
    out
        Folder of the new trace.
    jobs
        Number of jobs to draw from a model.
    days
        Length of the workload to draw from a model.
    knobs
        Value of a knob of the policy; `philly policies POLICY` lists the knobs.
    load
        Offered load: the rate of submissions changes, days stay days. By default submissions stay.
    gpus
        GPUs of the target cluster, in servers of 8.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model). By
        default the workload's own.
    run_policy
        Treat each job as one run, as exports do, and not attempt after attempt.
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
        Write per-minute GPU samples as well.

    Examples
    --------
    In a shell::

        philly simulate my-trace srtf what-if-srtf
        philly simulate my-trace tiresias what-if-las --machines 6x8 --load 0.9
    """
    from philly_analysis.errors import ModelError
    from philly_analysis.models import model_of
    from philly_analysis.workload import Workload, machines_of

    cluster = gpus if machines is None else machines
    model = model_of(workload)
    if model is not None:
        if jobs is None and days is None:
            raise ModelError(f"{model.name} is a model: give --jobs 1000 or --days 28 to draw.")
        size = None if cluster is None else sum(m.gpus for m in machines_of(cluster))
        work = model.sample(jobs, days=days, gpus=size, seed=seed)
        assert isinstance(work, Workload)  # noqa: S101 - one seed gives one workload
    elif jobs is not None or days is not None:
        raise ModelError(f"{workload} has its own jobs: --jobs and --days draw from a model.")
    else:
        work = Workload.from_trace(workload)
    if load is not None:
        work = work.with_load(load, cluster, seed=seed)
    changes = _changes(
        run_policy, estimates, prerun_servers, prerun_s, dedicated=dedicated, retry=retry_by_reason
    )
    trace: Trace = api.simulate(
        replace(work, changes=changes),
        policy,
        out,
        cluster=cluster,
        knobs={knob: values[-1] for knob, values in _knobs(knobs).items()},
        speed=speed,
        outages=outages,
        checkpoint_s=checkpoint_s,
        seed=seed,
        samples=samples,
        force=force,
    )
    return trace


def sweep(
    workloads: Sequence[Path],
    policies: Sequence[str],
    out: Path | None = None,
    *,
    loads: Sequence[float] = (),
    seeds: int = 1,
    knobs: Sequence[str] = (),
    jobs: int | None = None,
    days: float | None = None,
    warmup: float = 0.0,
    gpus: int | None = None,
    machines: str | None = None,
    run_policy: RunPolicy | None = None,
    speed: str | None = None,
    checkpoint_s: float = 0.0,
    outages: str | None = None,
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
        Folders of traces, files of models, or names of bundled models.
    policies
        Name of a policy; the first is the baseline.
    loads
        Offered loads: the rate of submissions changes, days stay days.
    seeds
        Number of workloads drawn from each model. Intervals need at least 3.
    jobs
        Number of jobs drawn from a model, by default 2,000 unless --days is given.
    days
        Length of the workloads drawn from a model.
    knobs
        Value of a knob, for the policies that have the knob; repeat for several values.
        ``policy.knob`` sets the knob of one policy.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model).

    Examples
    --------
    In a shell::

        philly sweep philly --policies fifo --policies srtf --gpus 64 --draw 200 --seeds 3
    """
    from philly_analysis.experiments import RunOptions, plan_runs
    from philly_analysis.report import sweep_page

    target = gpus if machines is None else machines
    changes = _changes(
        run_policy, estimates, prerun_servers, prerun_s, dedicated=dedicated, retry=retry_by_reason
    )
    runs = plan_runs(
        workloads,
        policies,
        cluster=target,
        knobs=_knobs(knobs),
        loads=loads,
        seeds=range(seeds),
        jobs=jobs,
        days=days,
        warmup=warmup,
        changes=changes,
        options=RunOptions(speed=speed, outages=outages, checkpoint_s=checkpoint_s),
    )
    return sweep_page(runs, out, is_sized=target is not None, executor=executor)


DOCUMENTED: dict[str, tuple[Callable[..., Any], ...]] = {
    "simulate": (api.simulate,),
    "sweep": (simulate, api.sweep),
}
"""Functions whose docstrings describe the parameters that a command's own docstring omits."""

COMMANDS: dict[str, Callable[..., Any]] = {"simulate": simulate, "sweep": sweep}
"""Functions of the commands, by verb."""


def _changes(
    run_policy: RunPolicy | None,
    estimates: str,
    prerun_servers: int,
    prerun_s: float,
    *,
    dedicated: bool,
    retry: bool,
) -> Changes:
    """Return the changes of jobs that options ask for."""
    from philly_analysis.workload import Changes, Prerun, estimates_of

    return Changes(
        run_policy=run_policy,
        estimates=estimates_of(estimates),
        dedicated=dedicated,
        user_retries=not retry,
        prerun=Prerun(prerun_servers, prerun_s) if prerun_servers else None,
    )


def _knobs(settings: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each knob, from ``KNOB=VALUE``; without a value: true."""
    values: dict[str, list[str]] = {}
    for setting in settings:
        knob, _, value = setting.partition("=")
        values.setdefault(knob, []).append(value or "true")
    return values
