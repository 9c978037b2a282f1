"""Compute findings and draw their figures, cached with the trace and spread over processes."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.published import compare_published
from philly_analysis.errors import MissingTableError, OutputError, UnknownNameError
from philly_analysis.parallel import InlineExecutor
from philly_analysis.progress import step
from philly_analysis.report.findings import ANALYSES, Own, answerable
from philly_analysis.results import Result, Results, create_folder, figures
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

_thread = threading.local()
"""Has the trace that a thread of a worker process computed a finding of."""


def analyze(
    trace: TraceLike,
    names: Sequence[str | Own] = (),
    *,
    out: str | Path | None = None,
    run_policy: RunPolicy | str | None = None,
    settings: Mapping[str, object] | None = None,
) -> Results:
    """Compute findings on a trace, by default all: see :func:`philly_analysis.analyze`.

    `settings` are arguments of the findings other than the defaults.
    """
    for name in names:
        if isinstance(name, str) and name not in ANALYSES:
            raise UnknownNameError("analysis", name, ANALYSES)
    results = Results()
    with open_trace(trace, run_policy) as source:
        wanted = names or answerable(source)
        for i, name in enumerate(wanted, 1):
            if isinstance(name, str) and ANALYSES[name].all_jobs and is_selected(source.manifest):
                raise MissingTableError(
                    f"{name} needs all jobs of a trace, and this one is a subset. Compute it on "
                    "the whole trace."
                )
            label = name if isinstance(name, str) else name.__name__
            with step(f"{i} of {len(wanted)}: {label}"):
                result = (
                    compute(source, name, settings)
                    if isinstance(name, str)
                    else compute_own(source, name)
                )
            results[result.name] = result
    if out is not None:
        create_folder(Path(out))
        for name, result in results.items():
            result.to_csv(Path(out) / f"{name}.csv")
    return results


def compute(trace: Trace, name: str, settings: Mapping[str, object] | None = None) -> Result:
    """Return one finding on a trace, from the trace's cache where it is there.

    A finding with settings, arguments other than the defaults, is computed and not cached.

    The result is marked as synthetic if the trace is synthetic and the finding depends on that.
    The result names the tables and relations that were read.
    """
    analysis = ANALYSES[name]
    with trace.record_reads() as reads:
        if not settings and (cached := load_result(trace, name)) is not None:
            reads |= dict.fromkeys(cached.reads)
            return replace(cached, draw=draw)
        computed = analysis.compute(trace, **(settings or {}))
        reads |= dict.fromkeys(computed.reads)
    result = replace(
        computed,
        question=analysis.question,
        sentences=computed.sentences or (analysis.absent,),
        synthetic=trace.manifest.synthetic and bool(analysis.needs),
        caveats=(*computed.caveats, *_selection(trace)),
        comparisons=(*compare_published(trace, name, computed.facts), *computed.comparisons),
        reads=tuple(reads),
        draw=draw,
    )
    if not settings:
        store_result(trace, result)
    return result


def compute_own(trace: Trace, function: Own) -> Result:
    """Return the finding of a user-defined analysis on a trace.

    Raises
    ------
    OutputError
        The function has the name of an analysis of the package, or returns no Result.
    """
    name = function.__name__
    if name in ANALYSES:
        raise OutputError(f"{name} is the name of an analysis of the package: rename yours.")
    with trace.record_reads() as reads:
        result = function(trace)
    if not isinstance(result, Result):
        raise OutputError(
            f"{name} returned a {type(result).__name__}. Return a Result: its name, its table (a "
            f"pandas DataFrame), and its sentences, e.g. Result({name!r}, table, "
            'sentences=("…",)).'
        )
    return replace(
        result,
        name=name,
        question=result.question or (function.__doc__ or name).strip().partition("\n")[0],
        synthetic=trace.manifest.synthetic,
        caveats=(*result.caveats, *_selection(trace)),
        reads=tuple(reads),
    )


def _selection(trace: Trace) -> tuple[str, ...]:
    """Return the sentence on how a subset's jobs were selected; empty for a whole trace."""
    sample = trace.manifest.sample
    return (sample.how,) if sample and is_selected(trace.manifest) else ()


def compute_each(
    trace: Trace,
    names: Sequence[str],
    executor: Executor,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[Result]:
    """Yield findings on a trace: cached findings, then the missing findings as they are computed.

    Missing findings that need no samples are computed in an executor, which opens the trace by its
    path. Meanwhile this process materialises the relations that need the samples, in one pass over
    the samples. The process then computes the findings from samples, and the findings that no
    executor has begun.

    Parameters
    ----------
    meanwhile
        Called once, before this process computes findings that the executor has not begun.
    """
    cached = {n: result for n in names if (result := load_result(trace, n)) is not None}
    yield from (replace(result, draw=draw) for result in cached.values())
    due = [n for n in names if n not in cached]
    apart = not isinstance(executor, InlineExecutor)
    begun = _compute_apart(trace, due, executor) if apart else {}
    here = [n for n in due if n not in begun]
    numbers = count(1)

    def computed(some: Iterable[str]) -> Iterator[Result]:
        for name in some:
            with step(f"{next(numbers)} of {len(due)}: {ANALYSES[name].question}"):
                yield compute(trace, name)

    try:
        read_samples(trace, here)
        yield from computed(here)
        meanwhile()
        for name, future in reversed(begun.items()):
            if future.cancel():
                yield from computed([name])
        for future in begun.values():
            if not future.cancelled():
                yield future.result()
    finally:
        for future in begun.values():
            future.cancel()


def _compute_apart(
    trace: Trace, names: Sequence[str], executor: Executor
) -> dict[str, Future[Result]]:
    """Begin to compute the findings that need no samples."""
    due = [n for n, a in ANALYSES.items() if n in names and a.sample_counts is None]
    return {
        name: executor.submit(_compute_here, trace.path, trace.run_policy, trace.manifest, name)
        for name in reversed(due)  # models take longest
    }


def _compute_here(path: Path, run_policy: RunPolicy, manifest: Manifest, name: str) -> Result:
    """Compute a finding in another process, whose thread keeps the trace open for the next one."""
    trace: Trace | None = getattr(_thread, "trace", None)
    if trace and (trace.path, trace.run_policy, trace.manifest) != (path, run_policy, manifest):
        trace.close()
        trace = None
    with ExitStack() as stack:
        _thread.trace = None
        trace = stack.enter_context(trace or Trace(path, run_policy=run_policy))
        if trace.manifest != manifest:
            raise replaced_error(path)
        result = compute(trace, name)
        stack.pop_all()  # no error closes it
        _thread.trace = trace
        return result


def read_samples(trace: Trace, names: Collection[str]) -> None:
    """Read the samples once for all analyses that need samples."""
    counts = dict.fromkeys(ANALYSES[name].sample_counts for name in names)
    trace.create(relation for relation in counts if relation and trace.has(relation))


def draw_each(trace: Trace, results: Iterable[Result], executor: Executor) -> dict[str, str]:
    """Return the figures of findings as SVG text, by name, from the trace's cache where possible.

    Parameters
    ----------
    results
        Findings, which may be computed on iteration: an executor draws one while this process
        computes the next.
    executor
        Processes that draw. Figures not begun when all findings are computed are drawn here.
    """
    svgs: dict[str, str] = {}

    def uncached() -> Iterator[Result]:
        for result in results:
            cached = load_figure(trace, result.name)
            if cached is None:
                yield result
            else:
                svgs[result.name] = cached

    begun: list[tuple[Result, Future[tuple[str, str]]]] = []
    try:
        begun += ((result, executor.submit(draw_svg, result)) for result in uncached())
        # matplotlib is not thread-safe: no drawing here beside threads
        alone = not isinstance(executor, ThreadPoolExecutor)
        ours = [draw_svg(result) for result, future in reversed(begun) if alone and future.cancel()]
        theirs = [future.result() for _, future in begun if not future.cancelled()]
    finally:
        for _, future in begun:
            future.cancel()
    for name, svg in (*theirs, *ours):
        store_figure(trace, name, svg)
        svgs[name] = svg
    return svgs


def draw(result: Result) -> Figure:
    """Draw a finding, marked where it is synthetic."""
    return figures.mark_synthetic(ANALYSES[result.name].plot(result), synthetic=result.synthetic)


def draw_svg(result: Result) -> tuple[str, str]:
    """Draw a finding; return its name and the figure as SVG text, empty if it shows nothing."""
    figure = draw(result)
    return result.name, "" if figures.is_empty(figure) else figures.svg(figure)
