"""List the users, accounts and servers of a trace, each with numbers and its worst jobs."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from philly_analysis.analyses.shared.wait_cause import Cause, named_causes
from philly_analysis.results import NOT_KNOWN
from philly_analysis.trace import Trace

_ENTRIES = Path(__file__).with_name("entries.sql").read_text("utf-8")
_LONGEST = 128
"""Characters of a name in an address; longer names are digested."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One user, account or server.

    Attributes
    ----------
    kind, name
        ``user``, ``account`` or ``server``, and its name in the log.
    numbers
        Numbers and words of the entry, by column of the list; None: not known.
    jobs
        Worst jobs of the entry, as rows of the page.
    """

    kind: str
    name: str
    numbers: Mapping[str, float | str | None]
    jobs: pd.DataFrame

    @property
    def anchor(self) -> str:
        """Fragment of the address of the entry."""
        return anchor(self.kind, self.name)

    @property
    def is_short(self) -> bool:
        """Whether the address of the entry contains its name."""
        return len(self.name.encode().hex()) <= _LONGEST


def anchor(kind: str, name: str) -> str:
    """Return the fragment of the address of an entry, without characters that need escaping."""
    digits = name.encode().hex()
    if len(digits) > _LONGEST:
        digits = sha256(name.encode()).hexdigest()
    return f"{kind}-{digits}"


def entries(trace: Trace) -> list[Entry]:
    """Return the entries of a trace by kind, those with most GPU hours first."""
    jobs, causes = _jobs(trace), _causes(trace)
    if trace.has_values("placements"):
        jobs = jobs.join(trace.answer("job_servers"), "job_id", "left")
        jobs = jobs.select("* replace (coalesce(first, true) as first)")
    else:
        jobs = jobs.select("*, null::varchar as machine_id, null::double as part, true as first")
    answer = jobs.query("jobs_on_servers", _ENTRIES)
    assert answer is not None  # noqa: S101 - the text is one SELECT
    rows = answer.df()
    shown = _shown(rows, causes)
    names = rows.drop_duplicates(["kind", "name"])  # the rows of a name follow each other
    bounds = pairwise((*names.index, len(rows)))
    return [
        Entry(
            row["kind"],
            row["name"],
            _numbers(row, causes),
            shown.iloc[start : end if pd.notna(row["job"]) else start],
        )
        for row, (start, end) in zip(names.to_dict("records"), bounds, strict=True)
    ]


def _causes(trace: Trace) -> Mapping[str, Cause]:
    """Return the causes of waits with their words, by the way in which quotas are known."""
    if not trace.has("job_wait_cause"):
        return {}
    methods = {method for (method,) in trace.answer("wait_causes").unique("method").fetchall()}
    return named_causes("given" if "given" in methods else min(methods, default="none"))


def _jobs(trace: Trace) -> duckdb.DuckDBPyRelation:
    """Return a row per job: names, GPUs, hours, cause of the wait, failure reason."""
    jobs = trace.answer("job_hours")
    lost = "lost_to_failures_by_output" if "failures" in trace.tables else "lost_to_failures"
    for column, values, relation in (
        ("idle_h", "lost_h", "worst_offenders_idle"),
        ("failed_h", "lost_h", lost),
        ("cause", "cause", "job_wait_cause"),
    ):
        if trace.has(relation):
            rows = trace.answer(relation).select(f"job_id, {values} as {column}")
            jobs = jobs.join(rows, "job_id", "left")
        else:
            jobs = jobs.select(f"*, null as {column}")
    if not trace.has_values("failures"):
        return jobs.select("*, null::varchar as reason")
    reasons = trace.failures.aggregate("job_id, mode(reason order by reason) as reason", "job_id")
    return jobs.join(reasons, "job_id", "left")


def _numbers(
    row: Mapping[Hashable, Any], causes: Mapping[str, Cause]
) -> dict[str, float | str | None]:
    """Return the numbers and words of an entry, by column of the list."""
    used_h = float(row["gpu_h"])
    numbers: dict[str, float | str | None] = {"jobs": int(row["jobs"]), "GPU h": used_h}
    for column, word in (("idle_h", "idle"), ("failed_h", "lost")):
        lost_h = float(row[column]) if pd.notna(row[column]) else None
        numbers[f"{word} GPU h"] = lost_h
        of_used = min(100.0, 100 * lost_h / used_h) if lost_h is not None and used_h > 0 else None
        numbers[f"{word} %"] = of_used
    waited_h = row["median_wait_h"]
    numbers["median wait"] = 3600 * float(waited_h) if pd.notna(waited_h) else None
    numbers["waits for"] = causes[row["cause"]].label if pd.notna(row["cause"]) else None
    numbers["failed jobs"] = int(row["failed_jobs"])
    numbers["fails by"] = row["reason"] if pd.notna(row["reason"]) else None
    return numbers


def _shown(jobs: pd.DataFrame, causes: Mapping[str, Cause]) -> pd.DataFrame:
    """Return jobs as the page shows them."""
    labels = {name: cause.label for name, cause in causes.items()}
    hours = {
        "GPU h": "job_gpu_h",
        "idle GPU h": "job_idle_h",
        "lost GPU h": "job_failed_h",
        "wait h": "job_wait_h",
    }
    return pd.DataFrame(
        {
            "job": jobs["job"],
            "user": jobs["user"],
            "account": jobs["account"],
            "GPUs": jobs["gpus"],
            "submitted": jobs["submitted_at"].dt.strftime("%Y-%m-%d %H:%M").fillna(NOT_KNOWN),
            "status": jobs["status"],
            **{title: jobs[column].astype(float).round(2) for title, column in hours.items()},
            "waits for": jobs["job_cause"].map(labels),
            "fails by": jobs["job_reason"],
        }
    )
