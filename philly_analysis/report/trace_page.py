"""Write the report of a trace: all its findings, what it lacks, and where its rows come from."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from datetime import timedelta
from pathlib import Path

from philly_analysis.analyses import FRONT, TRUST
from philly_analysis.analyses.worst_offenders import KINDS
from philly_analysis.ingest import words_of
from philly_analysis.report.cards import cards, unanswered
from philly_analysis.report.computing import compute_each, compute_own, draw_each
from philly_analysis.report.entries import Entry, anchor, entries
from philly_analysis.report.entries_page import ENTRIES_PAGE, TITLES, render_entries, short_names
from philly_analysis.report.findings import ANALYSES, CHAPTERS, Own, lacking, relevant
from philly_analysis.report.rendering import contents_of, now, template, write_page
from philly_analysis.report.sections import Chapter, Gap, Section
from philly_analysis.report.sections import section as section_of
from philly_analysis.results import Result, number
from philly_analysis.trace import REJECTS, Trace

OWN = "Your own"
"""Title of the chapter of user-defined analyses."""
_REJECTS_SHOWN = 20
_INPUTS_SHOWN = 50
_SHORT = timedelta(days=2)
"""Period of a log whose ends are shown to the minute."""


def write(trace: Trace, folder: Path, also: Iterable[Own], executor: Executor) -> None:
    """Compute the package's and the user's findings on a trace, and write them to a folder."""
    listed: list[Entry] = []
    chapters, gaps, silent = _findings(
        trace, executor, lambda: listed.extend(entries(trace) if trace.has("attempt_runs") else ())
    )
    if results := [compute_own(trace, one) for one in also]:
        chapters.insert(1, Chapter(OWN, tuple(section_of(r.name, r.question, r) for r in results)))
    made_at = now()
    page = _render(trace, chapters, gaps, silent, listed, made_at)
    others = {ENTRIES_PAGE: render_entries(trace, listed, made_at)} if listed else {}
    write_page(folder, chapters, page, others)


def _findings(
    trace: Trace, executor: Executor, meanwhile: Callable[[], object]
) -> tuple[list[Chapter], list[Gap], list[Result]]:
    """Compute and draw all findings of a trace.

    Parameters
    ----------
    meanwhile
        Called once while other processes compute findings.

    Returns
    -------
    chapters
        Findings that say something, by chapter.
    gaps
        Findings whose tables the trace lacks.
    silent
        Findings without a row and without a verdict, because the trace has nothing of their kind.
    """
    relevant_names = set(relevant(trace))
    analyses = [a for chapter in CHAPTERS.values() for a in chapter if a.name in relevant_names]
    lacks = {a.name: lacking(trace, a.name) for a in analyses}
    results: dict[str, Result] = {}
    possible = [name for name, missing in lacks.items() if not missing]
    computed = compute_each(trace, possible, executor, meanwhile)
    shown = (r for r in computed if not _is_silent(results.setdefault(r.name, r)))
    svgs = draw_each(trace, shown, executor)
    chapters = []
    for title, chapter in CHAPTERS.items():
        sections = tuple(
            Section(a.name, a.question, results[a.name], svgs[a.name])
            for a in chapter
            if a.name in svgs
        )
        if sections:
            chapters.append(Chapter(title, sections))
    gaps = [Gap(ANALYSES[name].question, missing) for name, missing in lacks.items() if missing]
    return chapters, gaps, [results[name] for name in possible if name not in svgs]


def _is_silent(result: Result) -> bool:
    return result.table.empty and result.verdict is None


def _render(
    trace: Trace,
    chapters: list[Chapter],
    gaps: list[Gap],
    silent: list[Result],
    listed: Sequence[Entry],
    made_at: str,
) -> str:
    sections = {s.name: s for c in chapters for s in c.sections}
    results = {name: s.result for name, s in sections.items()}
    overview = results.get("overview")
    return template("report.html", words_of(trace.manifest.source)).render(
        title=f"{trace.manifest.name}: GPU-cluster trace report",
        subtitle=" ".join([_period(trace), *(overview.sentences[:1] if overview else ())]),
        trust=_trust(trace),
        trust_title=TRUST,
        manifest=trace.manifest,
        warnings=[
            *(note for note in trace.manifest.notes if note.startswith("WARNING")),
            *(w for r in results.values() for w in r.warnings),
        ],
        cards=cards(sections),
        unanswered=unanswered(results, gaps),
        offenders=sections.get("worst_offenders"),
        kinds=KINDS,
        entries_page=ENTRIES_PAGE,
        anchors={entry.anchor for entry in listed},
        entry_kinds={k: t for k, t in TITLES.items() if any(e.kind == k for e in listed)},
        inputs_shown=_INPUTS_SHOWN,
        names=short_names(listed),
        anchor=anchor,
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
        silent=silent,
        rejects=_rejects(trace),
        **contents_of(chapters),
        run_policy=trace.run_policy.meaning,
        made_at=made_at,
    )


def _period(trace: Trace) -> str:
    """Return the period of the log as a sentence, in minutes if it is short; empty: unknown."""
    [(began_at, _, ended_at)] = trace.answer("snapshot").fetchall()
    if began_at is None or ended_at is None:
        return ""
    form = "%Y-%m-%d" if ended_at - began_at > _SHORT else "%Y-%m-%d %H:%M UTC"
    return f"{began_at:{form}} to {ended_at:{form}}."


def _trust(trace: Trace) -> str:
    """Return a sentence on the rows of the raw log that are in the tables; empty: not read."""
    accounts = trace.manifest.accounts
    read, kept = sum(a.read for a in accounts), sum(a.kept for a in accounts)
    if not read:
        return ""
    rejected = f"{read - kept:,} were rejected" if kept < read else "no row was rejected"
    return f"{kept:,} of {read:,} raw rows are in the tables; {rejected}."


def _rejects(trace: Trace) -> list[dict[str, object]]:
    if not trace.has(REJECTS.name):
        return []
    rows = trace.answer(REJECTS.name)
    first = rows.order("source_file, source_line, reason, raw").limit(_REJECTS_SHOWN)
    return [dict(zip(rows.columns, row, strict=True)) for row in first.fetchall()]
