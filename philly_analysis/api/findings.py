"""Verbs that compute findings: analyze, summary, report, compare, atlas, and lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from philly_analysis.models import WorkloadModel
    from philly_analysis.parallel import ExecutorLike
    from philly_analysis.report import Own, Page, Summary
    from philly_analysis.results import Result, Results
    from philly_analysis.simulator import Months
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import TraceLike
    from philly_analysis.workload import Ensemble

    Compared: TypeAlias = TraceLike | Months | Ensemble


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
        Trace to analyse: a folder, a URL on object storage, an open Trace, or tables in memory.
    names
        Names of findings; by default all findings that the trace has tables for. In Python also
        functions of a trace that return a :class:`Result` (see `also` of :func:`report`), and lists
        of names and functions.
    out
        Folder to write one CSV per finding to.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default an open trace keeps its definition, and a folder has ``span``.

    Returns
    -------
    Results or Result
        Results by name, in order. One name gives one Result; a list gives Results.

    Raises
    ------
    UnknownNameError
        There is no such finding.
    MissingTableError
        A named finding needs a table that the trace lacks, or all jobs where the trace is a subset.
    TraceError
        The folder is not a trace, or the trace is open with another run policy.
    OutputError
        The tables cannot be written, or a function returns no Result.

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
    for name in names:
        wanted += [name] if isinstance(name, str) or callable(name) else name
    results = compute(trace, wanted, out=out, run_policy=run_policy)
    if len(names) == 1 and (isinstance(names[0], str) or callable(names[0])):
        [result] = results.values()
        return result
    return results


def analyses(words: str = "") -> pd.DataFrame:
    """List the findings, with the questions that they answer.

    Parameters
    ----------
    words
        Words in the name, question or chapter; by default all findings are listed.

    Returns
    -------
    pandas.DataFrame
        One row per finding: analysis, question, chapter, needs (tables and columns).

    Raises
    ------
    UnknownNameError
        No finding has these words.

    Examples
    --------
    >>> list(analyses("gang size")["analysis"])
    ['queueing_delay', 'gpu_util', 'gpu_util_summaries', 'run_time']

    In a shell::

        philly analyses "gang size"
    """
    from philly_analysis.report import list_findings

    return list_findings(words)


def report(
    trace: TraceLike | WorkloadModel,
    out: Path | str | None = None,
    *,
    also: Iterable[Own] = (),
    run_policy: RunPolicy | str | None = None,
    executor: ExecutorLike = None,
) -> Page:
    """Compute every finding on a trace, as a page.

    The page lists findings whose tables the trace lacks as gaps. The page of a workload model has
    the jobs, GPU hours, run times and submissions of another month.

    Parameters
    ----------
    trace
        Folder of a trace, file of a model, or name of a bundled model. In Python also an open
        Trace, tables in memory, or a model.
    out
        Folder of reports. The page is ``out/<trace's folder name>/report.html``. An earlier report
        is replaced, unless nothing changed since. By default the folder is removed at the end of
        the session.
    also
        Analyses of your own for the page: functions of a trace that return a :class:`Result`. The
        docstring of a function is the question; the Result's `draw` draws the figure.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default an open trace keeps its definition, and a folder has ``span``.
    executor
        Where findings are computed and drawn: an executor, a number of processes, or the address
        of a Dask scheduler. By default this process does the work. Workers also count the samples
        of a folder, day by day, and must see the folder under the same path; an open Trace counts
        on the executor that it was opened with. The page is the same.

    Returns
    -------
    Page
        The page; Jupyter shows it, and :meth:`Page.save` copies it.

    Raises
    ------
    InputError
        The number of processes is not positive, or a model is combined with options that require a
        trace: `also` or `run_policy`.
    TraceError
        The folder is not a trace, the trace is open with another run policy, or the report cannot
        be written.

    Examples
    --------
    In a shell::

        philly report my-trace --out reports
        philly report model.json --out reports
    """
    from philly_analysis.api.session import folder_for
    from philly_analysis.report import report as write
    from philly_analysis.trace import Trace

    is_folder = isinstance(trace, str | Path) and Path(trace).is_dir()
    if not (is_folder or isinstance(trace, Trace)):
        from philly_analysis.errors import InputError
        from philly_analysis.models import as_model
        from philly_analysis.report import model_page

        if (model := as_model(trace)) is not None:
            if also or run_policy is not None:
                raise InputError(f"{model.name} is a model: also and run_policy need a trace.")
            return model_page(model, Path(folder_for(out, "reports")))
    return write(
        cast("TraceLike", trace),
        folder_for(out, "reports"),
        also=also,
        run_policy=run_policy,
        executor=executor,
    )


def summary(
    trace: TraceLike,
    *,
    out: Path | str | None = None,
    run_policy: RunPolicy | str | None = None,
    executor: ExecutorLike = None,
) -> Summary:
    """Summarise a trace: its answers and all facts.

    Findings are computed once and kept with the trace, as for a report.

    Parameters
    ----------
    trace
        Folder of a trace; in Python also an open Trace, or tables in memory.
    out
        File to write, which is replaced at once: ``.json`` (all facts), ``.md``, ``.prom``
        (OpenMetrics, for the textfile collector of node_exporter) or ``.txt``.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
    executor
        Where findings are computed: an executor, a number of processes, or the address of a Dask
        scheduler.

    Returns
    -------
    Summary
        ``str()`` is the text, ``to_json()`` one document with all facts, ``to_markdown()`` for
        mail and chat, ``to_openmetrics()`` for Prometheus. `cards` are the answers, `facts` a table
        with units and 95 % intervals.

    Raises
    ------
    TraceError
        The folder is not a trace.
    OutputError
        The file has another suffix, or cannot be written.

    Examples
    --------
    In a shell::

        philly summary my-trace
        philly summary my-trace --json
        philly summary my-trace --out philly.prom
    """
    from philly_analysis.report import summary as summarise

    result = summarise(trace, run_policy=run_policy, executor=executor)
    if out is not None:
        result.save(out)
    return result


def compare(
    *traces: Compared | Sequence[Compared] | Mapping[str, Compared],
    findings: Iterable[str] | str = (),
    out: Path | str | None = None,
) -> Result:
    """Compare traces: times, waits, utilisation, fairness.

    Parameters
    ----------
    traces
        Folders of two or more traces; the first trace is the baseline. In Python also open traces,
        tables in memory, a list of traces, or one mapping of names to traces. Results of simulated
        ensembles, or ensembles, are compared month by month, in pairs of one seed.
    findings
        Name of a finding to show for each trace on the page, with its facts side by side.
    out
        Folder of a page: the verdict, who gains and loses, the queue over time. By default
        :meth:`Result.save` writes the page.

    Returns
    -------
    Result
        Long table: trace, by and group (null: all jobs), measure, percentile (0-100; null for
        single numbers), value, unit. Groups are gang sizes, virtual clusters, users, and intervals
        of time. :func:`philly_analysis.report.side_by_side` makes the numbers of all jobs wide.
        Months have the table of :func:`sweep`.

    Raises
    ------
    TraceError
        There are fewer than two traces, a folder is not a trace, or the page cannot be written.
    UnknownNameError, MissingTableError
        There is no such finding, or a trace lacks a table that the finding needs.

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


def atlas(
    traces: Sequence[TraceLike] | TraceLike = (),
    out: Path | str | None = None,
    *,
    datasets: Path | str | None = None,
    fetch: bool = False,
    executor: ExecutorLike = None,
) -> Result:
    """Test which of the study's findings hold on which clusters.

    Parameters
    ----------
    traces
        Folders of traces, and with `fetch` also names of public traces. In Python also open traces,
        or one trace.
    out
        Folder of a page with all clusters side by side.
    datasets
        Folder of public traces as published, to test as well. Public traces that a source reads
        are ingested for the duration of the call. The page lists the public traces without source.
    fetch
        Download the named public traces first, or all public traces if none is named. The sizes
        are printed, interrupted downloads resume, and digests are verified. The folder is
        `datasets`, by default ``public-traces``. The names are philly, helios, acme, itp-2021,
        pai, alibaba-openb-2023, alibaba-spot-2026, mit-supercloud, thetagpu-2023, blue-waters,
        pm100, cloudbrain-1.
    executor
        Where public traces are ingested: an executor, a number of processes, or the address of a
        Dask scheduler. By default this process ingests them one by one.

    Returns
    -------
    Result
        Long table: claim, cluster, verdict (holds, is reversed, is practically absent, cannot be
        said), effect, low, high (95 % interval), unit, holds (threshold and side on which the claim
        holds), absent (margin of practical absence), n (rows on the smaller side), blocks, block
        (resampled unit), why, notes.

    Raises
    ------
    TraceError
        There is no trace, a folder is not a trace, or the page cannot be written.
    UnknownNameError
        There is no public trace of that name to fetch.
    InputError
        There is no such folder of public traces, or nothing could be fetched.

    Examples
    --------
    In a shell::

        philly atlas my-trace what-if --out atlas
        philly atlas --fetch helios acme --out atlas
    """
    from philly_analysis.report import atlas_of

    return atlas_of(
        traces, None if out is None else Path(out), datasets, fetch=fetch, executor=executor
    )


def published() -> pd.DataFrame:
    """List the numbers that the study printed, and where.

    Returns
    -------
    pandas.DataFrame
        One row per number: analysis and fact (measure of the same quantity on a trace), what,
        published, unit, source, differs (reason why the measured number may differ).

    Examples
    --------
    In a shell::

        philly published
    """
    from philly_analysis.study import published as list_published

    return list_published()


def demo(out: Path | str = "philly-demo") -> Page:
    """Make the bundled sample's trace and page.

    The sample is synthetic, in the raw layout of the Philly archive: its numbers are not findings
    about a real cluster.

    Parameters
    ----------
    out
        Folder of the page, and of the trace ``sample``, which is made once.

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
