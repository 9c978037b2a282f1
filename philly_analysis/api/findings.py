"""Define the verbs on findings: computed on a trace, on a page, compared, tested."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from philly_analysis.api.folders import folder_for
from philly_analysis.errors import suggest_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    import pandas as pd

    from philly_analysis.report import Findings, Own, Page
    from philly_analysis.results import Result, Results
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import TraceLike


@overload
def analyze(  # type: ignore[overload-overlap]  # a str is also an Iterable of str
    trace: TraceLike,
    name: str | Own,
    /,
    *,
    out: Path | str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Result: ...


@overload
def analyze(
    trace: TraceLike,
    *names: str | Own | Iterable[str | Own],
    out: Path | str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Results: ...


@suggest_arguments
def analyze(
    trace: TraceLike,
    *names: str | Own | Iterable[str | Own],
    out: Path | str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Results | Result:
    """Compute findings on a trace, as tables.

    Parameters
    ----------
    trace
        Folder of a trace. Or an open one, or tables in memory.
    names
        Names of findings; by default all that the trace has tables for. Or functions of one's own
        (see `also` of :func:`report`), or lists of both.
    out
        Folder to write one CSV per finding to.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default that of the open trace, ``span`` of a folder.

    Returns
    -------
    Results, or Result
        By name, in order; the Result alone where one name is given.

    Raises
    ------
    UnknownNameError
        There is no such finding.
    MissingTableError
        A named finding needs a table that the trace lacks; or all jobs, of a subset of a trace.
    TraceError
        The folder is not a trace, or the trace is open with another run policy.
    OutputError
        The tables cannot be written; or a function of one's own returns no Result.

    Examples
    --------
    >>> delay = analyze("my-trace", "queueing_delay")
    >>> delay.facts.waits
    300
    >>> str(delay.save("delay.pdf"))
    'delay.pdf'

    In a shell::

        philly analyze my-trace queueing_delay run_time
        philly analyze my-trace --out tables
    """
    from philly_analysis.report import analyze as compute

    wanted: list[str | Own] = []
    for given in names:
        wanted += [given] if isinstance(given, str) or callable(given) else given
    results = compute(trace, wanted, out=out, run_policy=run_policy)
    if len(names) == 1 and (isinstance(names[0], str) or callable(names[0])):
        [result] = results.values()
        return result
    return results


@suggest_arguments
def analyses(words: str = "") -> Findings:
    """List the findings, with the questions that they answer.

    Parameters
    ----------
    words
        Words in the name, question or chapter; by default all findings.

    Returns
    -------
    Findings
        A list of names; ``.df()`` has analysis, question, chapter, needs (tables and columns).

    Raises
    ------
    UnknownNameError
        No finding has these words.

    Examples
    --------
    >>> list(analyses("gang size"))
    ['run_time', 'queueing_delay', 'gpu_util', 'gpu_util_summaries']

    In a shell::

        philly analyses "gang size"
    """
    from philly_analysis.report import list_findings

    return list_findings(words)


@suggest_arguments
def report(
    trace: TraceLike,
    out: Path | str | None = None,
    *,
    also: Iterable[Own] = (),
    run_policy: RunPolicy | str | None = None,
    workers: int = 1,
    cluster: str | None = None,
    executor: Executor | None = None,
) -> Page:
    """Compute every finding on a trace, as a page.

    Findings whose tables the trace lacks are listed as gaps.

    Parameters
    ----------
    trace
        Folder of a trace. Or an open one.
    out
        Folder of reports. The page is ``out/<trace's folder name>/report.html``; an earlier report
        there is replaced. By default a folder of this session.
    also
        Analyses of one's own for the page: functions of a trace that return a :class:`Result`.
        Their docstring is the question; the Result's `draw` draws its figure.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default that of the open trace, ``span`` of a folder.
    workers
        Processes to run on. They count samples, day by day, and draw; a trace that is already open
        uses its own executor. The page is the same.
    cluster
        Address of a Dask scheduler to run on. Its workers must see the trace under the same path.
    executor
        Processes that draw figures while this one computes; by default those that count samples.

    Returns
    -------
    Page
        The page; Jupyter shows it, and :meth:`Page.save` copies it.

    Raises
    ------
    InputError
        There are no workers.
    TraceError
        The folder is not a trace, the trace is open with another run policy, or the report cannot
        be written.

    Examples
    --------
    In a shell::

        philly report my-trace --out reports
    """
    from philly_analysis.report import report as write

    return write(
        trace,
        folder_for(out, "reports"),
        also=also,
        run_policy=run_policy,
        workers=workers,
        cluster=cluster,
        executor=executor,
    )


@suggest_arguments
def compare(
    *traces: TraceLike | Sequence[TraceLike] | Mapping[str, TraceLike],
    findings: Iterable[str] = (),
    out: Path | str | None = None,
) -> Result:
    """Compare traces: times, waits, utilisation, fairness.

    Parameters
    ----------
    traces
        Folders of two or more traces; the first is the baseline. Or open traces, tables in memory,
        lists of them, or one mapping of names to them.
    findings
        Name of a finding to show for each trace on the page, with its facts side by side.
    out
        Folder of a page: the verdict, who gains and loses, the queue over time. By default
        :meth:`Result.save` writes it.

    Returns
    -------
    Result
        Long table: trace, by and group (null: all jobs), measure, percentile (0-100; null for
        single numbers), value, unit. Groups are gang sizes, virtual clusters, users, and intervals
        of time. :func:`philly_analysis.report.side_by_side` makes the numbers of all jobs wide.

    Raises
    ------
    TraceError
        There are fewer than two traces, a folder is not a trace, or the page cannot be written.
    UnknownNameError, MissingTableError
        There is no such finding, or a trace lacks what it needs.

    Examples
    --------
    >>> runs = {policy: simulate("my-trace", policy) for policy in ("fifo", "srtf")}
    >>> compare(runs).facts.fifo_jobs
    300

    In a shell::

        philly compare my-trace what-if --finding queueing_delay --out comparison
    """
    from philly_analysis.report import comparison_page

    return comparison_page(traces, [findings] if isinstance(findings, str) else list(findings), out)


@suggest_arguments
def atlas(
    traces: Sequence[TraceLike] | TraceLike = (),
    out: Path | str | None = None,
    *,
    datasets: Path | str | None = None,
) -> Result:
    """Test which of the study's findings hold on which clusters.

    Parameters
    ----------
    traces
        Folders of traces. Or open ones.
    out
        Folder of a page with all clusters side by side.
    datasets
        Folder of public traces as published, to test as well. Those that a source reads are
        ingested for the duration of the call; the page lists the others.

    Returns
    -------
    Result
        Long table: claim, cluster, verdict (holds, is reversed, is practically absent, cannot be
        said), effect, low, high (95 % interval), unit, holds (on which side of which threshold),
        absent (within which margin), n (rows on the smaller side), blocks, block (what was
        resampled), why, notes.

    Raises
    ------
    TraceError
        There is no trace, a folder is not a trace, or the page cannot be written.
    InputError
        There is no such folder of public traces.

    Examples
    --------
    In a shell::

        philly atlas my-trace what-if --out atlas
    """
    from philly_analysis.report import atlas_of

    return atlas_of(traces, None if out is None else Path(out), datasets)


@suggest_arguments
def published() -> pd.DataFrame:
    """List the numbers that the study printed, and where.

    Returns
    -------
    pandas.DataFrame
        One row per number: analysis and fact (what measures the same on a trace), what, published,
        unit, source, differs (why ours may).

    Examples
    --------
    In a shell::

        philly published
    """
    from philly_analysis.study import published as list_published

    return list_published()


@suggest_arguments
def demo(out: Path | str = "philly-demo") -> Page:
    """Make the bundled sample's trace and page.

    The sample is synthetic, in the raw layout of the Philly archive: its numbers are not findings
    about a real cluster.

    Parameters
    ----------
    out
        Folder of the trace and the page. The trace, ``sample``, is made once.

    Returns
    -------
    Page
        The page.

    Raises
    ------
    InputError
        The installation lacks the sample.
    TraceError
        The folder cannot be written.

    Examples
    --------
    In a shell::

        philly demo
    """
    from philly_analysis.report import demo as make

    return make(Path(out))
