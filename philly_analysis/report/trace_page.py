"""Write the report of a trace: all its findings, what it lacks, and where its rows come from."""

from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path

from philly_analysis.analyses import FRONT
from philly_analysis.analyses.worst_offenders import KINDS
from philly_analysis.report.cards import cards, unanswered
from philly_analysis.report.computing import compute_each, compute_own, draw_each
from philly_analysis.report.findings import ANALYSES, CHAPTERS, Own, lacking, relevant
from philly_analysis.report.rendering import now, sql_of, template, write_page
from philly_analysis.report.sections import Chapter, Gap, Section
from philly_analysis.report.sections import section as section_of
from philly_analysis.results import Result, number
from philly_analysis.trace import REJECTS, Trace

OWN = "Your own"
"""Title of the chapter of user-defined analyses."""
_REJECTS_SHOWN = 20


def write(trace: Trace, folder: Path, also: Iterable[Own], executor: Executor) -> None:
    """Compute the package's and the user's findings on a trace, and write them to a folder."""
    chapters, gaps = _findings(trace, executor)
    if results := [compute_own(trace, one) for one in also]:
        chapters.insert(1, Chapter(OWN, tuple(section_of(r.name, r.question, r) for r in results)))
    write_page(folder, chapters, _render(trace, chapters, gaps))


def _findings(trace: Trace, executor: Executor) -> tuple[list[Chapter], list[Gap]]:
    """Compute and draw all findings of a trace; return the chapters, and what it lacks."""
    relevant_names = set(relevant(trace))
    analyses = [a for chapter in CHAPTERS.values() for a in chapter if a.name in relevant_names]
    lacks = {a.name: lacking(trace, a.name) for a in analyses}
    results: dict[str, Result] = {}
    computed = compute_each(trace, [n for n, missing in lacks.items() if not missing], executor)
    svgs = draw_each(trace, (results.setdefault(r.name, r) for r in computed), executor)
    chapters = []
    for title, chapter in CHAPTERS.items():
        sections = tuple(
            Section(a.name, a.question, results[a.name], svgs[a.name])
            for a in chapter
            if a.name in results
        )
        if sections:
            chapters.append(Chapter(title, sections))
    gaps = [Gap(ANALYSES[name].question, missing) for name, missing in lacks.items() if missing]
    return chapters, gaps


def _render(trace: Trace, chapters: list[Chapter], gaps: list[Gap]) -> str:
    sections = {s.name: s for c in chapters for s in c.sections}
    results = {name: s.result for name, s in sections.items()}
    overview = results.get("overview")
    return template("report.html").render(
        title=f"{trace.manifest.name}: GPU-cluster trace report",
        subtitle=" ".join(overview.sentences[:1]) if overview else "",
        manifest=trace.manifest,
        warnings=[
            *(note for note in trace.manifest.notes if note.startswith("WARNING")),
            *(w for r in results.values() for w in r.warnings),
        ],
        cards=cards(sections),
        unanswered=unanswered(results, gaps),
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
        **sql_of(chapters),
        run_policy=trace.run_policy.meaning,
        made_at=now(),
    )


def _rejects(trace: Trace) -> list[dict[str, object]]:
    if not trace.has(REJECTS.name):
        return []
    rows = trace.answer(REJECTS.name)
    first = rows.order("source_file, source_line, reason, raw").limit(_REJECTS_SHOWN)
    return [dict(zip(rows.columns, row, strict=True)) for row in first.fetchall()]
