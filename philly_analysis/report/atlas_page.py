"""Test the study's findings on many traces, and write the page of all clusters side by side."""

import tempfile
from collections.abc import Sequence
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
from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest import IngestOptions, ingest
from philly_analysis.progress import step
from philly_analysis.report.rendering import data_uri, now, replacing, template
from philly_analysis.results import Result, csv_text, write_csv
from philly_analysis.trace import MACROS, Trace, TraceLike, open_trace, with_dependencies

ATLAS = "atlas.html"


def atlas_of(
    traces: Sequence[TraceLike] | TraceLike, out: Path | None, datasets: str | Path | None
) -> Result:
    """Test the study's findings on clusters: see :func:`philly_analysis.atlas`."""
    given = cast("Sequence[TraceLike]", traces if isinstance(traces, list | tuple) else [traces])
    with ExitStack() as stack:
        sources = [stack.enter_context(open_trace(trace)) for trace in given]
        absent: list[tuple[str, str]] = []
        clusters: dict[str, str] = {}
        aggregates: list[Finding] = []
        if datasets is not None:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(dir=scratch_folder()))
            made, absent = _ingest_datasets(Path(datasets), Path(scratch))
            sources += [stack.enter_context(Trace(path)) for _, path in made]
            clusters = {dataset.name: dataset.cluster or dataset.name for dataset, _ in made}
            aggregates = list(from_aggregates(Path(datasets)))
        if not sources and not aggregates:
            raise TraceError(
                "There is no trace. Give the folder of one or more, or that of public traces as "
                "published with datasets=FOLDER."
            )
        found = evaluate(sources, clusters, aggregates, shipped=shipped_answers())
    if out is not None:
        atlas_page(found, absent, out)
    return replace(found.result(), write_page=lambda _, folder: atlas_page(found, absent, folder))


def _ingest_datasets(
    folder: Path, scratch: Path
) -> tuple[list[tuple[Dataset, Path]], list[tuple[str, str]]]:
    """Ingest the public traces in a folder; return their traces, and reasons for the others."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give that of the public traces.")
    made: list[tuple[Dataset, Path]] = []
    absent: list[tuple[str, str]] = []
    for dataset in known_datasets():
        raw, name = folder / dataset.folder, dataset.name or dataset.folder
        if not raw.exists() or dataset.why:
            absent.append((name, dataset.why if raw.exists() else f"There is no {raw.name}."))
            continue
        out = scratch / f"{len(made)}"
        with step(f"reading {name}"):
            try:
                options = IngestOptions(dataset.source, raw, out, map=dataset.map, name=name)
                ingest(options)
            except InputError as error:
                absent.append((name, str(error).replace(str(folder), folder.name)))
            else:
                made.append((dataset, out))
    return made, absent


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
