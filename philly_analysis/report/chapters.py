"""The page's chapters: every analysis by name, and the function that asks them."""

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias, overload

from matplotlib.figure import Figure

from philly_analysis.analyses import (
    arrivals,
    clock_offset,
    concentration,
    delay_causes,
    failure_costs,
    failure_reasons,
    failure_repetition,
    failure_statuses,
    gang_failures,
    gpu_util,
    gpu_util_by_servers,
    gpu_util_dedicated,
    gpu_util_summaries,
    gpus_in_use,
    host_clock_offset,
    host_util,
    how_used,
    job_status,
    locality_effect,
    locality_relaxation,
    node_failures,
    notebook_definitions,
    occupancy,
    out_of_order,
    overview,
    queueing_delay,
    queueing_delay_by_group,
    retries,
    run_policy,
    run_time,
    run_time_by_group,
    time_asked,
    time_to_failure,
    usage,
    wait_states,
    waits_by_day,
    why_failures,
    why_waits,
    wide_gangs,
    workload_account,
    worst_offenders,
)
from philly_analysis.analyses.published import compare_published, has_philly_layout
from philly_analysis.errors import MissingTableError, OutputError, UnknownNameError
from philly_analysis.models.validation import calibration, other_months, philly_like
from philly_analysis.parallel import InlineExecutor
from philly_analysis.progress import step
from philly_analysis.results import Result, Results, figures
from philly_analysis.study import RunPolicy
from philly_analysis.trace import (
    Manifest,
    Trace,
    TraceLike,
    is_selected,
    load_figure,
    load_result,
    open_trace,
    replaced_error,
    store_figure,
    store_result,
)


class Analysis(Protocol):
    """What a module of an analysis offers."""

    @property
    def QUESTION(self) -> str:  # noqa: N802 - a module's constant
        """The question, as the page's heading asks it."""

    @property
    def NEEDS(self) -> tuple[str, ...]:  # noqa: N802
        """What it cannot be asked without; none: it rests on nothing of the trace.

        A table (``jobs``), a column that holds a value somewhere (``jobs.time_limit_s``), or one
        of two (``attempts.end_reason or failures``).
        """

    def compute(self, trace: Trace) -> Result:
        """Answer the question on one trace."""

    def plot(self, result: Result) -> Figure:
        """Draw the answer, from the Result only."""


Own: TypeAlias = Callable[[Trace], Result]
"""An analysis of one's own: its name is the function's, its docstring asks the question."""

FRONT = "In short"
"""The chapter that the page opens with."""

CHAPTERS: dict[str, dict[str, Analysis]] = {
    FRONT: {
        "why_waits": why_waits,
        "how_used": how_used,
        "why_failures": why_failures,
        "worst_offenders": worst_offenders,
    },
    "The trace": {
        "overview": overview,
        "workload_account": workload_account,
        "gpus_in_use": gpus_in_use,
        "clock_offset": clock_offset,
        "host_clock_offset": host_clock_offset,
    },
    "Workload": {
        "run_time": run_time,
        "run_time_by_group": run_time_by_group,
        "job_status": job_status,
        "retries": retries,
        "arrivals": arrivals,
        "concentration": concentration,
    },
    "Queueing": {
        "queueing_delay": queueing_delay,
        "delay_causes": delay_causes,
        "out_of_order": out_of_order,
        "queueing_delay_by_group": queueing_delay_by_group,
        "waits_by_day": waits_by_day,
    },
    "Locality and utilisation": {
        "locality_relaxation": locality_relaxation,
        "occupancy": occupancy,
        "gpu_util": gpu_util,
        "gpu_util_by_servers": gpu_util_by_servers,
        "locality_effect": locality_effect,
        "gpu_util_dedicated": gpu_util_dedicated,
        "gpu_util_summaries": gpu_util_summaries,
        "host_util": host_util,
    },
    "Failures": {
        "failure_reasons": failure_reasons,
        "failure_repetition": failure_repetition,
        "time_to_failure": time_to_failure,
        "failure_costs": failure_costs,
        "failure_statuses": failure_statuses,
    },
    "Operation": {
        "usage": usage,
        "wait_states": wait_states,
        "time_asked": time_asked,
        "wide_gangs": wide_gangs,
        "node_failures": node_failures,
        "gang_failures": gang_failures,
    },
    "Definitions": {
        "run_policy": run_policy,
        "notebook_definitions": notebook_definitions,
    },
    "Workload model": {
        "calibration": calibration,
        "other_months": other_months,
        "philly_like": philly_like,
    },
}
"""Every analysis by name, in the chapters and the order of the page."""

PHILLYS_OWN = frozenset({"notebook_definitions", "philly_like"})
"""Analyses that ask about the study's cluster: the page of another one does without."""

BESIDE = ("calibration", "host_clock_offset", "philly_like", "notebook_definitions")
"""Analyses that take seconds and lean on no other: they may be answered beside the rest."""

SAMPLED = {
    "gpu_use_bins": "how_used",
    "notebook_gpu_util_bins": "notebook_definitions",
    "gpu_clock_readings": "clock_offset",
    "host_clock_readings": "host_clock_offset",
    "host_util_bins": "host_util",
}
"""Relations that take a pass over the samples, and the first analysis that rests on each."""

AMONG_ALL = frozenset(
    "delay_causes gpu_util_dedicated host_util locality_effect occupancy out_of_order wait_states "  # noqa: SIM905 - as a list it takes a line each
    "why_waits".split()
)
"""Analyses that ask what all jobs held: not to be asked of some, chosen from a trace."""

ANALYSES: dict[str, Analysis] = {
    name: analysis for chapter in CHAPTERS.values() for name, analysis in chapter.items()
}
"""Every analysis by name."""


@overload
def analyze(  # type: ignore[overload-overlap]  # a text is also an Iterable of texts
    trace: TraceLike,
    name: str | Own,
    /,
    *,
    out: str | Path | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Result: ...
@overload
def analyze(
    trace: TraceLike,
    *names: str | Own | Iterable[str | Own],
    out: str | Path | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Results: ...
def analyze(
    trace: TraceLike,
    *names: str | Own | Iterable[str | Own],
    out: str | Path | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Results | Result:
    """Compute findings on a trace, as tables.

    Parameters
    ----------
    trace
        An open trace, its folder, or tables in memory.
    names
        Keys of :data:`ANALYSES`, or functions of a trace that return a Result (see
        :func:`philly_analysis.report`); one, several, or lists of them; none: all that concern the
        trace's cluster and that it can answer.
    out
        Folder to write the tables to as well, ``<name>.csv`` each; None: none.
    run_policy
        How attempts become a job's run time; None: as the trace was opened, ``span`` for a folder.

    Returns
    -------
    Results, or Result
        By name, in order; of a single one just its own.

    Raises
    ------
    UnknownNameError
        A name is not an analysis.
    MissingTableError
        A named analysis needs a table that the trace does not have; or all jobs, of a trace of
        some.
    TraceError
        The folder is no trace, or the trace is open with another run policy.
    OutputError
        The tables cannot be written; or a function of one's own returns no Result.
    """
    wanted: list[str | Own] = []
    for name in names:
        wanted += [name] if isinstance(name, str) or callable(name) else name
    for word in wanted:
        if isinstance(word, str) and word not in ANALYSES:
            raise UnknownNameError("analysis", word, ANALYSES)
    with open_trace(trace, run_policy) as held:
        results = Results()
        asked = wanted or [n for n in about(held) if not lacking(held, n)]
        for i, one in enumerate(asked, 1):
            if one in AMONG_ALL and is_selected(held.manifest):
                raise MissingTableError(
                    f"{one} asks what all jobs held, and this trace is of some of them. Ask it of "
                    "the whole trace."
                )
            with step(f"{i} of {len(asked)}: {one if isinstance(one, str) else one.__name__}"):
                found = answer(held, one) if isinstance(one, str) else own_answer(held, one)
            results[found.name] = found
    if out is not None:
        _write_tables(results, Path(out))
    if len(names) == 1 and (isinstance(names[0], str) or callable(names[0])):
        [result] = results.values()
        return result
    return results


def about(trace: Trace) -> list[str]:
    """Return the analyses that concern a trace's cluster: Philly's own sections only Philly's."""
    return [name for name in ANALYSES if name not in PHILLYS_OWN or has_philly_layout(trace)]


def lacking(trace: Trace, name: str) -> tuple[str, ...]:
    """Return what a trace lacks of what an analysis needs."""
    absent = tuple(
        need
        for need in ANALYSES[name].NEEDS
        if not any(trace.has_values(one) for one in need.split(" or "))
    )
    some = name in AMONG_ALL and is_selected(trace.manifest)
    return (*absent, "the jobs that were not chosen") if some else absent


def _write_tables(results: Mapping[str, Result], out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, result in results.items():
            result.to_csv(out / f"{name}.csv")
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from None


def answer(trace: Trace, name: str) -> Result:
    """Return what one analysis says of a trace, and note with it what was asked of the trace.

    It counts as synthetic when it rests on such a trace. The trace keeps the answer, and is asked
    once.
    """
    analysis = ANALYSES[name]
    with trace.record_reads() as reads:
        known = _known(trace, name)
        computed = known or analysis.compute(trace)
        result = known or replace(
            computed,
            question=analysis.QUESTION,
            synthetic=trace.manifest.synthetic and bool(analysis.NEEDS),
            caveats=(*computed.caveats, *_chosen(trace)),
            comparisons=(
                *compare_published(trace, name, computed.facts),
                *computed.comparisons,
            ),
        )
        reads |= dict.fromkeys(result.reads)
    if known:
        return replace(known, draw=drawing)
    result = replace(result, reads=tuple(reads), draw=drawing)
    if _ours(analysis):
        store_result(trace, result)
    return result


def _known(trace: Trace, name: str) -> Result | None:
    """Return the answer that a trace keeps, if it is the package's own."""
    return load_result(trace, name) if _ours(ANALYSES[name]) else None


def count_samples(trace: Trace, names: Collection[str]) -> None:
    """Read the samples once for all analyses of some that rest on them and are not answered yet."""
    asked = ((one, name) for one, name in SAMPLED.items() if name in names)
    trace.create(one for one, name in asked if trace.has(one) and not _known(trace, name))


def beside(
    trace: Trace, names: Iterable[str], executor: Executor | None
) -> dict[str, Future[Results]]:
    """Let an executor answer those analyses of some that take seconds and lean on no other.

    It opens the trace by its path, as it was opened here, once; each name has the same future.
    """
    if executor is None:
        return {}
    asked = [
        name
        for name in names
        if name in BESIDE and _ours(ANALYSES[name]) and not _known(trace, name)
    ]
    if not asked:
        return {}
    there = executor.submit(_answer_there, trace.path, trace.run_policy, trace.manifest, asked)
    return dict.fromkeys(asked, there)


def _answer_there(
    path: Path, run_policy: RunPolicy, manifest: Manifest, names: Sequence[str]
) -> Results:
    with Trace(path, run_policy=run_policy) as trace:
        if trace.manifest != manifest:
            raise replaced_error(path)
        return Results({name: answer(trace, name) for name in names})


def own_answer(trace: Trace, own: Own) -> Result:
    """Return what an analysis of somebody's own says of a trace.

    Raises
    ------
    OutputError
        It has the name of one of the package, or returns no Result.
    """
    name = own.__name__
    if name in ANALYSES:
        raise OutputError(f"{name} is an analysis of the package: call yours otherwise.")
    with trace.record_reads() as reads:
        made = own(trace)
    if not isinstance(made, Result):
        raise OutputError(
            f"{name} returned a {type(made).__name__}. Return a Result: its name, its table (a "
            f"pandas DataFrame), and its sentences, e.g. Result({name!r}, table, "
            'sentences=("…",)).'
        )
    asks = (own.__doc__ or name).strip().partition("\n")[0]
    return replace(
        made,
        name=name,
        question=made.question or asks,
        synthetic=trace.manifest.synthetic,
        caveats=(*made.caveats, *_chosen(trace)),
        reads=tuple(reads),
    )


def _chosen(trace: Trace) -> tuple[str, ...]:
    """Say how the jobs of a trace were chosen from another's, if they were."""
    sample = trace.manifest.sample
    return (sample.how,) if sample and is_selected(trace.manifest) else ()


def drawn(
    trace: Trace, results: Iterable[Result], executor: Executor | None = None
) -> dict[str, str]:
    """Return the figures of answers as SVG text, by name; the trace keeps them.

    Parameters
    ----------
    results
        Answers, which may be computed as they are drawn from it: while an executor draws one, the
        next is computed here.
    executor
        Who draws what the trace does not keep, but for what it has not begun when all are
        computed: that, and without one everything, is drawn here.
    """
    found: dict[str, str] = {}

    def undrawn() -> Iterator[Result]:
        for result in results:
            ours = _ours(ANALYSES[result.name])
            known = load_figure(trace, result.name) if ours else None
            if known is not None:
                found[result.name] = known
            else:
                yield result

    drawer = executor or InlineExecutor()
    begun: list[tuple[Result, Future[tuple[str, str]]]] = []
    try:
        begun += ((result, drawer.submit(figure, result)) for result in undrawn())
        # not beside a thread of this process: matplotlib draws one at a time
        alone = not isinstance(drawer, ThreadPoolExecutor)
        ours = [figure(result) for result, future in reversed(begun) if alone and future.cancel()]
        theirs = [future.result() for _, future in begun if not future.cancelled()]
    finally:
        for _, future in begun:
            future.cancel()
    for name, svg in (*theirs, *ours):
        found[name] = svg
        if _ours(ANALYSES[name]):
            store_figure(trace, name, svg)
    return found


def drawing(result: Result) -> Figure:
    """Draw an answer, marked where it rests on what is synthetic."""
    return figures.mark_synthetic(ANALYSES[result.name].plot(result), synthetic=result.synthetic)


def figure(result: Result) -> tuple[str, str]:
    """Draw an answer; return its name, and the figure as SVG text, empty if it shows nothing."""
    collects = gc.isenabled()
    gc.disable()  # a figure is made of so many parts that the collector would take a fifth
    try:
        drawn = drawing(result)
        return result.name, "" if figures.is_empty(drawn) else figures.svg(drawn)
    finally:
        if collects:
            gc.enable()


def _ours(analysis: Analysis) -> bool:
    """Tell whether an analysis is the package's own: an answer of another is not kept."""
    return all(
        f.__module__.startswith("philly_analysis.")
        and getattr(sys.modules[f.__module__], f.__name__, None) is f
        for f in (analysis.compute, analysis.plot)
    )
