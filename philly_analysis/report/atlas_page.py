"""Test the study's findings on many traces, and write the page of all clusters side by side."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import cast

from philly_analysis.atlas import (
    COLORS,
    FEWEST_BLOCKS,
    FEWEST_ROWS,
    RESAMPLES,
    SYMBOLS,
    Atlas,
    Dataset,
    Evidence,
    Finding,
    Verdict,
    by_answers,
    evaluate,
    from_aggregates,
    known_datasets,
    missing_data,
    multiples,
    shipped_answers,
)
from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import InputError, TraceError, UnknownNameError
from philly_analysis.ingest import IngestOptions, fetch_all, ingest
from philly_analysis.parallel import ExecutorLike, map_ordered, open_executor
from philly_analysis.progress import step
from philly_analysis.report.rendering import data_uri, now, replacing, template
from philly_analysis.results import Result, count, csv_text, write_csv
from philly_analysis.trace import MACROS, Trace, TraceLike, open_trace, with_dependencies

ATLAS = "atlas.html"
DOWNLOADS = "public-traces"
"""Folder that public traces are fetched to, if none is given."""


def atlas_of(
    traces: Sequence[TraceLike] | TraceLike,
    out: Path | None,
    datasets: str | Path | None,
    *,
    fetch: bool = False,
    executor: ExecutorLike = None,
) -> Result:
    """Test the study's findings on clusters: see :func:`philly_analysis.atlas`."""
    other_traces = list(
        cast("Sequence[TraceLike]", traces if isinstance(traces, list | tuple) else [traces])
    )
    failures: dict[str, str] = {}
    if fetch:
        datasets = Path(datasets or DOWNLOADS)
        other_traces, failures = _fetch(other_traces, datasets)
    with ExitStack() as stack:
        sources = [stack.enter_context(open_trace(trace)) for trace in other_traces]
        absent: list[tuple[str, str]] = []
        clusters: dict[str, str] = {}
        aggregates: list[Finding] = []
        if datasets is not None:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(dir=scratch_folder()))
            made, absent = _ingest_datasets(Path(datasets), Path(scratch), executor, failures)
            sources += [stack.enter_context(Trace(path)) for _, path in made]
            clusters = {dataset.name: dataset.cluster or dataset.name for dataset, _ in made}
            aggregates = list(from_aggregates(Path(datasets)))
        if not sources and not aggregates:
            if failures:
                raise InputError(f"Nothing could be fetched. {next(iter(failures.values()))}")
            raise TraceError(
                "There is no trace. Give the folders of traces, or the folder of public traces as "
                "published, with datasets=FOLDER."
            )
        evaluated = evaluate(sources, clusters, aggregates, shipped=shipped_answers())
    if out is not None:
        atlas_page(evaluated, absent, out)
    return replace(
        evaluated.result(),
        warnings=tuple(f"Not fetched: {name}. {why}" for name, why in failures.items()),
        write_page=lambda _, folder: atlas_page(evaluated, absent, folder),
    )


def _fetch(traces: Sequence[TraceLike], folder: Path) -> tuple[list[TraceLike], dict[str, str]]:
    """Fetch the named public traces, or all public traces if no trace is named.

    Returns
    -------
    list, dict
        The other given ones, and why public traces could not be fetched, by name.
    """
    public_names = [dataset.fetch for dataset in known_datasets() if dataset.fetch]
    names: list[str] = []
    others: list[TraceLike] = []
    for trace in traces:
        path = str(trace) if isinstance(trace, str | Path) else None
        if path in public_names:
            names.append(path)
        elif path and "://" not in path and not Path(path).exists():
            raise UnknownNameError("public trace", path, public_names)
        else:
            others.append(trace)
    folder.mkdir(parents=True, exist_ok=True)
    return others, fetch_all(names or public_names, folder)


def _ingest_datasets(
    folder: Path, scratch: Path, executor: ExecutorLike, failures: Mapping[str, str]
) -> tuple[list[tuple[Dataset, Path]], list[tuple[str, str]]]:
    """Ingest the public traces in a folder; return their traces, and why others cannot be read.

    Parameters
    ----------
    failures
        Why traces could not be fetched: an unverified copy of one is not ingested.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give the folder of the public traces.")
    why: dict[Dataset, str] = {}
    tasks: list[tuple[Dataset, Path, Path]] = []
    for dataset in known_datasets():
        raw = dataset.find(folder)
        if dataset.fetch in failures:
            why[dataset] = failures[dataset.fetch]
        elif not raw.exists():
            why[dataset] = f"There is no {dataset.folder}."
        elif dataset.why:
            why[dataset] = dataset.why
        else:
            tasks.append((dataset, raw, scratch / str(len(tasks))))
    with step(f"reading {count(len(tasks), 'public trace')}"), open_executor(executor) as workers:
        outcomes = list(map_ordered(workers, _ingest, tasks, ahead=len(tasks)))
    why |= {
        dataset: error.replace(str(folder), folder.name)
        for (dataset, _, _), error in zip(tasks, outcomes, strict=True)
        if error
    }
    absent = [(d.name or d.folder, why[d]) for d in known_datasets() if d in why]
    return [(dataset, out) for dataset, _, out in tasks if dataset not in why], absent


def _ingest(task: tuple[Dataset, Path, Path]) -> str:
    """Ingest a public trace; return why the trace cannot be read, or an empty text."""
    dataset, raw, out = task
    try:
        ingest(IngestOptions(dataset.source, raw, out, map=dataset.map, name=dataset.name))
    except InputError as error:
        return str(error)
    return ""


def atlas_page(atlas: Atlas, absent: Sequence[tuple[str, str]], out: Path) -> Path:
    """Write the page of an atlas, with its table and the data of its panels as CSV.

    Parameters
    ----------
    absent
        Datasets that were not tested, and why.
    out
        Folder of the page; an earlier page there is replaced.

    Returns
    -------
    Path
        The page.
    """
    result = atlas.result()
    chapters = multiples(atlas)
    answered, silent = by_answers(chapters)
    text = template("atlas.html").render(
        title="An atlas of GPU clusters",
        atlas=atlas,
        absent=absent,
        chapters=[],
        multiples=chapters,
        rows=answered,
        silent=silent,
        needs=missing_data(p.claim for p in silent),
        cells=len(atlas.public) * (len(answered) + len(silent)),
        decided={
            "rows": atlas.decided(Evidence.ROWS),
            "rows_or_aggregates": atlas.decided(Evidence.ROWS, Evidence.AGGREGATES),
            "all": atlas.decided(*Evidence),
        },
        verdicts=list(Verdict),
        symbols=SYMBOLS,
        colors=COLORS,
        marks_of={v.word: SYMBOLS[v] for v in Verdict},
        relations=with_dependencies(result.reads),
        resamples=RESAMPLES,
        fewest={"rows": FEWEST_ROWS, "blocks": FEWEST_BLOCKS},
        csv=data_uri(csv_text(result.table)),
        macros=MACROS,
        made_at=now(),
    )
    with replacing(out, ATLAS) as folder:
        write_csv(result.table, folder / "atlas.csv")
        write_csv(atlas.all_answers, folder / "answers.csv")
        write_csv(atlas.panels, folder / "panels.csv")
        (folder / ATLAS).write_text(text, "utf-8")
    return out / ATLAS
