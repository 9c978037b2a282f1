"""Verbs on what to expect: forecast, reliability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from philly_analysis.forecasts import Forecast
    from philly_analysis.results import Result
    from philly_analysis.simulator import Speed
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import TraceLike


@overload
def forecast(
    trace: TraceLike,
    out: Path | str | None = ...,
    *,
    gpus: float = ...,
    vc: str | None = ...,
    qos: str | None = ...,
    account: str | None = ...,
    user: str | None = ...,
    time_limit: str | float | None = ...,
    servers: int | None = ...,
    at: str | None = ...,
    speed: str | Speed | None = ...,
    pending: Literal[False] = ...,
    week: Literal[False] = ...,
) -> Forecast: ...


@overload
def forecast(
    trace: TraceLike,
    out: Path | str | None = ...,
    *,
    gpus: float = ...,
    vc: str | None = ...,
    qos: str | None = ...,
    account: str | None = ...,
    user: str | None = ...,
    time_limit: str | float | None = ...,
    servers: int | None = ...,
    at: str | None = ...,
    speed: str | Speed | None = ...,
    pending: bool = ...,
    week: bool = ...,
) -> Forecast | Result: ...


def forecast(
    trace: TraceLike,
    out: Path | str | None = None,
    *,
    gpus: float = 1,
    vc: str | None = None,
    qos: str | None = None,
    account: str | None = None,
    user: str | None = None,
    time_limit: str | float | None = None,
    servers: int | None = None,
    at: str | None = None,
    speed: str | Speed | None = None,
    pending: bool = False,
    week: bool = False,
) -> Forecast | Result:
    """Forecast when a job will start, with tested intervals.

    The forecast is the distribution of the wait of a job that is submitted at a moment of the log,
    from what was known then. A backtest on the log chooses the method.

    Parameters
    ----------
    trace
        Trace of the cluster: a folder, an open Trace, or tables in memory.
    out
        Folder of a page: the forecast, waits by hour of the week, waiting jobs, and the backtest.
        By default no page is written.
    gpus
        Gang size of the job.
    vc
        Virtual cluster or partition of the job.
    qos
        Quality of service of the job.
    account
        Account of the job.
    user
        User who submits the job.
    time_limit
        Time limit of the job: minutes, a time as of Slurm (1:30:00, 2-12), or a number with its
        unit (90min, 8h).
    servers
        Servers that the job requests.
    at
        Moment of submission in UTC, such as "2017-11-25 10:00". By default the end of the log.
    speed
        Model of the speed of jobs by gang size, for completion times (wait and run) on other gang
        sizes. By default completion times come from repeated jobs of the log.
    pending
        Forecast each job that waits at the moment in place of a new job.
    week
        Tabulate waits by gang size and hour of the week in place of a forecast.

    Returns
    -------
    Forecast or Result
        A distribution of seconds with the methods of SciPy's frozen distributions (``median``,
        ``interval``, ``ppf``, ``cdf``, ``rvs``, ...), with sentences, the `backtest`, the table by
        hour of the `week`, and `completion` times by gang size. With `pending`, one row per waiting
        job: waited_s, and median, ends of the 50 % and 90 % intervals and probabilities of the
        remaining wait. With `week`, one row per gang class and hour: median_s, p90_s.

    Raises
    ------
    InputError
        The log records no waits or too few, the moment is after its end, a text is no time, or the
        speed model does not depend on the gang size.
    UnknownNameError
        The log has no such virtual cluster, QOS, account or user, or there is no such speed model.
    TraceError
        The folder is not a trace, or the page cannot be written.

    Examples
    --------
    >>> wait = forecast("my-trace", gpus=4)
    >>> wait.cdf(wait.median()) >= 0.5
    True

    In a shell::

        philly forecast my-trace --gpus 16 --time-limit 8h
        philly forecast my-trace --gpus 16 --speed parallelism
        philly forecast my-trace --pending
        philly forecast my-trace --week
    """
    from philly_analysis.errors import InputError
    from philly_analysis.forecasts import Request, moment_s, time_limit_s
    from philly_analysis.report import forecast_of, pending_of, week_of
    from philly_analysis.simulator import speed_named

    if not gpus > 0:
        raise InputError(f"gpus is {gpus}. A job needs at least a share of one GPU.")
    if pending and week:
        raise InputError("pending and week were given together: each returns a table of its own.")
    at_s = moment_s(at)
    model = speed_named(speed) if isinstance(speed, str) else speed
    if pending or week:
        table = pending_of(trace, at_s) if pending else week_of(trace, at_s)
        if out is not None:
            table.save(out)
        return table
    request = Request(
        gpus=float(gpus),
        vc=vc,
        account=account,
        user=user,
        qos=qos,
        servers=None if servers is None else float(servers),
        time_limit_s=time_limit_s(time_limit),
    )
    return forecast_of(trace, None if out is None else Path(out), request, at_s, model)


def reliability(
    trace: TraceLike,
    out: Path | str | None = None,
    *,
    checkpoint_s: float = 3600.0,
    write_s: float = 300.0,
    recovery_s: float = 300.0,
    wait_s: float | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Result:
    """Estimate how often hardware ends runs, and the time lost.

    Parameters
    ----------
    trace
        Trace of the cluster: a folder, an open Trace, or tables in memory.
    out
        Folder to write the figure and the tables to. By default nothing is written.
    checkpoint_s
        Seconds of work between checkpoints.
    write_s
        Seconds during which a run stands still while a checkpoint is written.
    recovery_s
        Seconds from the start of an attempt until the attempt makes progress.
    wait_s
        Seconds that a run waits after a failure. By default the median recorded wait of gangs of
        the run's size.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default an open trace keeps its definition, and a folder has ``span``.

    Returns
    -------
    Result
        The finding `reliability`: failures by cause with intervals, and by gang size the mean time
        to failure and the effective training time ratio.

    Raises
    ------
    InputError
        A time is negative.
    MissingTableError
        The trace lacks attempts, or end reasons and failures.
    TraceError
        The folder is not a trace.

    Examples
    --------
    In a shell::

        philly reliability my-trace
        philly reliability my-trace --checkpoint-s 1800 --recovery-s 600 --wait-s 0
    """
    from philly_analysis.analyses.reliability import Recovery
    from philly_analysis.errors import InputError
    from philly_analysis.report import analyze

    if wait_s is not None and not wait_s >= 0:
        raise InputError(f"wait_s is {wait_s}; give seconds of 0 or more.")
    recovery, settings = Recovery(checkpoint_s, write_s, recovery_s), {}
    if recovery != Recovery() or wait_s is not None:
        settings = {"recovery": recovery, "wait_s": wait_s}
    results = analyze(trace, ["reliability"], run_policy=run_policy, settings=settings)
    result = results["reliability"]
    if out is not None:
        result.save(out)
    return result
