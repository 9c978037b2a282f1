"""Turns the Results of a trace into a page: report.html, figures/*.svg and tables/*.csv."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from philly_analysis.analyses.worst_offenders import KINDS
from philly_analysis.atlas import (
    CLASSES,
    COLORS,
    FEWEST_BLOCKS,
    FEWEST_ROWS,
    RESAMPLES,
    SYMBOLS,
    Atlas,
    Verdict,
    plates,
    short,
)
from philly_analysis.atomic import atomic_write
from philly_analysis.errors import TraceError
from philly_analysis.parallel import workers
from philly_analysis.progress import step
from philly_analysis.report.chapters import (
    ANALYSES,
    CHAPTERS,
    FRONT,
    Own,
    about,
    answer,
    beside,
    count_samples,
    drawn,
    lacking,
    own_answer,
)
from philly_analysis.report.sections import Card, Chapter, Gap, Section, section
from philly_analysis.results import NOT_KNOWN, Result, bind_units, csv_text, number, write_csv
from philly_analysis.study import RunPolicy
from philly_analysis.trace import MACROS, REJECTS, Trace, TraceLike, open_trace, with_dependencies

PAGE = "report.html"
ATLAS = "atlas.html"
OWN = "Your own"
"""The chapter of analyses that are not the package's."""
_EVIDENCE = {
    "why_waits": ("delay_causes", "wait_states", "queueing_delay", "out_of_order"),
    "how_used": ("gpu_util", "gpu_util_summaries", "occupancy", "usage"),
    "why_failures": ("failure_reasons", "failure_statuses", "failure_costs", "job_status"),
}
"""The questions that the page answers first, and the findings that say more."""
_WORD = 24
"""Letters up to which a cell is kept on one line."""
_SCRIPT = (Path(__file__).parent / "templates" / "page.js").read_text("utf-8")
_REJECTS_SHOWN = 20


def report(
    trace: TraceLike,
    out: str | Path = "reports",
    *,
    also: Iterable[Own] = (),
    run_policy: RunPolicy | str | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    executor: Executor | None = None,
) -> Path:
    """Compute every finding on a trace, as a page.

    What the trace has no tables for is listed as a gap.

    Parameters
    ----------
    trace
        An open trace, or its folder.
    out
        Folder of reports; the page goes to ``out/<trace's folder name>/report.html``, and a
        report that stands there is replaced whole.
    also
        Analyses of one's own, to stand on the page as well: functions of a trace that return a
        :class:`~philly_analysis.results.result.Result`, whose docstring asks the question; its
        `draw` draws it.
    run_policy
        How attempts become a job's run time; None: as the trace was opened, ``span`` for a folder.
    jobs, cluster
        Where to count samples, day by day, and to draw: see
        :func:`philly_analysis.parallel.workers`. Workers of a cluster must see the trace under
        the same path. A trace that is open counts where it was opened to. The answers are the same.
    executor
        Processes that draw figures while findings are computed here; None: where samples are
        counted.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        Nobody is there to do the work.
    TraceError
        The folder is no trace, the trace is open with another run policy, or the report cannot be
        written.
    """
    with ExitStack() as stack:
        there = None
        if jobs != 1 or cluster:
            there = stack.enter_context(workers(jobs, cluster))
        held = stack.enter_context(open_trace(trace, run_policy, executor=there))
        chapters, gaps = _answer(held, executor or there)
        if own := [own_answer(held, one) for one in also]:
            chapters.insert(1, Chapter(OWN, tuple(_drawn(result) for result in own)))
        return _write(Path(out) / held.path.name, chapters, _report(held, chapters, gaps))


def results_page(
    title: str,
    lede: str,
    chapters: Sequence[Chapter],
    out: str | Path,
    *,
    closing: pd.DataFrame | None = None,
    closing_title: str = "Figure by figure",
) -> Path:
    """Write a page of results that belong to no single trace: a comparison, an experiment.

    Parameters
    ----------
    lede
        What was done, in a sentence.
    out
        Folder of the page, its figures and tables; a page that stands there is replaced whole.
    closing
        A table to close the page with; None: none.
    closing_title
        What that table is.

    Returns
    -------
    Path
        The page.
    """
    synthetic = [s.result.synthetic for c in chapters for s in c.sections]
    text = _template("results.html").render(
        title=title,
        lede=lede,
        chapters=chapters,
        synthetic="all" if all(synthetic) else "some" if any(synthetic) else "",
        tables_open=True,
        closing=closing,
        closing_title=closing_title,
        **_sql(chapters),
        made_at=_now(),
    )
    return _write(Path(out), chapters, text)


def atlas_page(atlas: Atlas, absent: Sequence[tuple[str, str]], out: str | Path) -> Path:
    """Write the page of an atlas, with its table and what the panels show as CSV.

    Parameters
    ----------
    absent
        Datasets that could not be asked, and why.
    out
        Folder of the page; a page that stands there is replaced whole.

    Returns
    -------
    Path
        The page.
    """
    text = _template("atlas.html").render(
        title="An atlas of GPU clusters",
        atlas=atlas,
        absent=absent,
        chapters=[],
        plates=plates(atlas),
        verdicts=list(Verdict),
        symbols=SYMBOLS,
        classes=CLASSES,
        colors=COLORS,
        marks={CLASSES[v]: SYMBOLS[v] for v in Verdict},
        short=short,
        relations=with_dependencies(atlas.result().reads),
        resamples=RESAMPLES,
        fewest={"rows": FEWEST_ROWS, "blocks": FEWEST_BLOCKS},
        csv=_data_uri(csv_text(atlas.table)),
        macros=MACROS,
        made_at=_now(),
    )
    with _replacing(Path(out), ATLAS) as folder:
        write_csv(atlas.table, folder / "atlas.csv")
        write_csv(atlas.panels, folder / "panels.csv")
        (folder / ATLAS).write_text(text, "utf-8")
    return Path(out) / ATLAS


def _drawn(result: Result) -> Section:
    """Make a section of a result that draws itself, or is not drawn."""
    if result.draw is None:
        return Section(result.name, result.question, result, "")
    return section(result.name, result.question, result, result.plot())


def _write(out: Path, chapters: Iterable[Chapter], text: str) -> Path:
    with _replacing(out) as folder:
        (folder / "figures").mkdir()
        (folder / "tables").mkdir()
        for part in (s for c in chapters for s in c.sections):
            if part.svg:
                (folder / "figures" / f"{part.name}.svg").write_text(part.svg, "utf-8")
            write_csv(part.result.table, folder / part.csv)
        (folder / PAGE).write_text(text, "utf-8")
    return out / PAGE


def _answer(trace: Trace, executor: Executor | None) -> tuple[list[Chapter], list[Gap]]:
    concerned = about(trace)
    wanted = {n: a for part in CHAPTERS.values() for n, a in part.items() if n in concerned}
    lacks = {name: lacking(trace, name) for name in wanted}
    results: dict[str, Result] = {}

    def answered() -> Iterator[Result]:
        asked = [name for name, missing in lacks.items() if not missing]
        count_samples(trace, asked)
        there = beside(trace, asked, executor)
        for i, name in enumerate(sorted(asked, key=there.__contains__), 1):
            with step(f"{i} of {len(asked)}: {wanted[name].QUESTION}"):
                found = there[name].result()[name] if name in there else answer(trace, name)
            results[name] = found
            yield found

    svgs = drawn(trace, answered(), executor)
    chapters = []
    for title, analyses in CHAPTERS.items():
        sections = tuple(
            Section(name, analysis.QUESTION, results[name], svgs[name])
            for name, analysis in analyses.items()
            if name in results
        )
        if sections:
            chapters.append(Chapter(title, sections))
    gaps = [Gap(wanted[name].QUESTION, missing) for name, missing in lacks.items() if missing]
    return chapters, gaps


def _template(name: str) -> jinja2.Template:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("philly_analysis.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_together,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"number": number, "signed": lambda v: number(v, signed=True)}
    env.filters |= {"cell": _cell, "kinds": _kinds}
    env.globals |= {"script": _SCRIPT, "policy": _policy}
    return env.get_template(name)


def _together(value: object) -> object:
    """Keep numbers and units on one line, but in what is HTML: code, figures, what logs wrote."""
    return bind_units(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _cell(value: Any) -> str:
    """Say a value of a table: of numbers four digits, or all before the point."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return NOT_KNOWN
    if isinstance(value, float):
        return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:,.4g}"
    return str(value)


def _kinds(table: pd.DataFrame) -> list[str]:
    """Tell columns of numbers, which stand at the right, and of words, which are not broken."""

    def kind(column: "pd.Series[Any]") -> str:
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            return "num"
        return "word" if max((len(_cell(v)) for v in column), default=0) <= _WORD else ""

    return [kind(table.iloc[:, i]) for i in range(table.shape[1])]


def _policy(style: str) -> str:
    """Say what a browser may do for a page (Content Security Policy): our style, our script."""
    of_style, of_script = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, _SCRIPT)
    )
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{of_style}'; "
        f"script-src 'sha256-{of_script}'; base-uri 'none'; form-action 'none'"
    )


def _data_uri(text: str) -> str:
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _report(trace: Trace, chapters: list[Chapter], gaps: list[Gap]) -> str:
    sections = {s.name: s for c in chapters for s in c.sections}
    results = {name: s.result for name, s in sections.items()}
    overview = results.get("overview")
    return _template("report.html").render(
        title=f"{trace.manifest.name}: GPU-cluster trace report",
        subtitle=" ".join(overview.sentences[:1]) if overview else "",
        manifest=trace.manifest,
        warnings=[
            *(note for note in trace.manifest.notes if note.startswith("WARNING")),
            *(w for r in results.values() for w in r.warnings),
        ],
        cards=[_card(name, sections, gaps) for name in _EVIDENCE],
        offenders=sections.get("worst_offenders"),
        kinds=KINDS,
        tiles=[
            {
                "value": f.value if isinstance(f.value, str) else number(f.value),
                "meaning": f.meaning,
            }
            for f in (overview.facts if overview else ())
            if f.value is not None
        ],
        chapters=[c for c in chapters if c.title != FRONT],
        tables_open=False,
        gaps=gaps,
        rejects=_rejects(trace),
        **_sql(chapters),
        run_policy=trace.run_policy.meaning,
        made_at=_now(),
    )


def _sql(chapters: Iterable[Chapter]) -> dict[str, object]:
    """Return all SQL that the findings rest on, each file once, for the end of a page."""
    reads = dict.fromkeys(n for c in chapters for s in c.sections for n in s.result.reads)
    return {
        "relations": sorted(with_dependencies(tuple(reads)), key=attrgetter("name")),
        "macros": MACROS,
    }


def _card(name: str, sections: Mapping[str, Section], gaps: Iterable[Gap]) -> Card:
    question = ANALYSES[name].QUESTION
    evidence = tuple(n for n in _EVIDENCE[name] if n in sections)
    missing = next((gap.missing for gap in gaps if gap.question == question), ())
    return Card(name, question, sections.get(name), evidence, missing)


def _rejects(trace: Trace) -> list[dict[str, object]]:
    if not trace.has(REJECTS.name):
        return []
    rows = trace.answer(REJECTS.name)
    first = rows.order("source_file, source_line, reason, raw").limit(_REJECTS_SHOWN)
    return [dict(zip(rows.columns, row, strict=True)) for row in first.fetchall()]


@contextmanager
def _replacing(out: Path, page: str = PAGE) -> Iterator[Path]:
    """Give a folder to fill that replaces the report at `out` when the block ends."""
    if out.exists() and not (out / page).is_file():
        raise TraceError(f"{out} exists and is not a report, so it is not replaced.")
    try:
        with atomic_write(out) as partial:
            partial.mkdir()
            yield partial
    except OSError as error:
        raise TraceError(f"{out} cannot be written: {error.strerror or error}") from error
