"""Write the report of a trace: all its findings, what it lacks, and where its rows come from."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path

from philly_analysis.analyses import FRONT
from philly_analysis.analyses.worst_offenders import KINDS
from philly_analysis.report.computing import compute_each, compute_own, draw_each
from philly_analysis.report.findings import ANALYSES, CHAPTERS, Own, lacking, relevant
from philly_analysis.report.rendering import now, sql_of, template, write_page
from philly_analysis.report.sections import Card, Chapter, Gap, Section
from philly_analysis.report.sections import section as section_of
from philly_analysis.results import Result, Verdict, number
from philly_analysis.trace import REJECTS, Trace

OWN = "Your own"
"""Title of the chapter of user-defined analyses."""
_EVIDENCE = {
    "why_waits": ("delay_causes", "wait_states", "stated_causes", "queueing_delay", "out_of_order"),
    "how_used": ("gpu_util", "gpu_util_summaries", "occupancy", "usage"),
    "why_failures": ("failure_reasons", "failure_statuses", "failure_costs", "job_status"),
}
"""Questions at the top of the page, with the findings that give details."""
_MEANINGS = {
    "gpu_samples": "GPU utilisation over time (gpu_samples)",
    "summaries": "utilisation per attempt (summaries)",
    "placements": "the GPUs of each attempt (placements)",
}
"""Meaning of tables on a card without an answer."""
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
        **sql_of(chapters),
        run_policy=trace.run_policy.meaning,
        made_at=now(),
    )


def _card(name: str, sections: Mapping[str, Section], gaps: Iterable[Gap]) -> Card:
    question, section = ANALYSES[name].question, sections.get(name)
    verdict = section.result.verdict if section else None
    if verdict is None:
        missing = next((gap.missing for gap in gaps if gap.question == question), ())
        tables = "; and ".join(
            ", or ".join(_MEANINGS.get(one, one) for one in need.split(" or ")) for need in missing
        )
        verdict = Verdict("Not recorded", advice=f"Collect {tables}.")
    evidence = tuple(n for n in _EVIDENCE[name] if n in sections)
    return Card(name, question, section, verdict, evidence)


def _rejects(trace: Trace) -> list[dict[str, object]]:
    if not trace.has(REJECTS.name):
        return []
    rows = trace.answer(REJECTS.name)
    first = rows.order("source_file, source_line, reason, raw").limit(_REJECTS_SHOWN)
    return [dict(zip(rows.columns, row, strict=True)) for row in first.fetchall()]
