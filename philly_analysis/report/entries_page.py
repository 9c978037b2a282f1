"""Write the page of users, accounts and servers, with their worst jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pandas as pd

from philly_analysis.ingest import words_of
from philly_analysis.report.entries import Entry
from philly_analysis.report.rendering import template
from philly_analysis.report.table_rows import block, cell
from philly_analysis.results import NOT_KNOWN, UNNAMED, duration, number
from philly_analysis.trace import Trace

ENTRIES_PAGE = "entries.html"
"""File of the page, beside the report."""
TITLES = {"user": "Users", "account": "Accounts", "server": "Servers"}
"""Title of each kind of entry."""
_SHOWN_JOBS = 30
"""Jobs that the page shows before its script draws all."""
_DURATIONS = ("median wait",)
"""Columns in seconds that are shown as durations."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """A table of entries: titles of columns, and a row of (text, number to sort by) per entry."""

    titles: Sequence[str]
    rows: Sequence[tuple[Entry, Sequence[tuple[str, object]]]]


def render_entries(trace: Trace, listed: Sequence[Entry], made_at: str) -> str:
    """Return the HTML of the page, which says when it was made."""
    by_kind = {kind: [e for e in listed if e.kind == kind] for kind in TITLES}
    jobs, worst, whole = _jobs(listed)
    return template("entries.html", words_of(trace.manifest.source)).render(
        title=f"{trace.manifest.name}: users, accounts and servers",
        manifest=trace.manifest,
        chapters=[],
        listings={
            (kind, TITLES[kind]): _listing(of_kind) for kind, of_kind in by_kind.items() if of_kind
        },
        names=short_names(listed),
        entries_page="",
        jobs=jobs.head(min(whole, _SHOWN_JOBS)),
        jobs_count=whole,
        job_rows=block(jobs, worst=worst, whole=whole),
        made_at=made_at,
    )


def short_names(listed: Sequence[Entry]) -> dict[str, list[str]]:
    """Return the names of entries whose addresses contain the name, by kind."""
    names: dict[str, list[str]] = {}
    for entry in listed:
        if entry.is_short:
            names.setdefault(entry.kind, []).append(entry.name)
    return names


def _listing(of_kind: Sequence[Entry]) -> _Listing:
    """Return the list of the entries of a kind, without columns that nothing is known of."""
    titles = [t for t in of_kind[0].numbers if any(e.numbers[t] is not None for e in of_kind)]
    rows = [(e, [_shown(title, e.numbers[title]) for title in titles]) for e in of_kind]
    return _Listing(titles, rows)


def _shown(title: str, value: float | str | None) -> tuple[str, object]:
    if value is None:
        return NOT_KNOWN, None
    if isinstance(value, str):
        return cell(value), None
    text = duration(value) if title in _DURATIONS else number(value)
    return text, round(value, 3)


def _jobs(listed: Sequence[Entry]) -> tuple[pd.DataFrame, dict[str, list[int]], int]:
    """Return the worst jobs of all entries, each once, their positions by entry, and a number.

    The number counts the rows of the first kind of entry. Later rows may be parts of jobs, on one
    server.
    """
    if not listed:
        return pd.DataFrame(), {}, 0
    every_job = pd.concat([entry.jobs for entry in listed])
    rows = (
        every_job.astype(object).where(every_job.notna(), None).itertuples(index=False, name=None)
    )
    positions: dict[tuple[Any, ...], int] = {}
    worst: dict[str, list[int]] = {}
    whole = 0
    for entry in listed:
        worst[entry.anchor] = [
            positions.setdefault(row, len(positions)) for row in islice(rows, len(entry.jobs))
        ]
        if entry.kind == listed[0].kind:
            whole = len(positions)
    jobs = pd.DataFrame(list(positions), columns=every_job.columns).infer_objects()
    empty = [c for c in jobs.columns if jobs[c].isna().all() or (jobs[c] == UNNAMED).all()]
    return jobs.drop(columns=empty), worst, whole
