"""List the users, accounts and servers of a trace, each with numbers and its worst jobs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from philly_analysis.results import NOT_KNOWN, duration, number, share
from philly_analysis.trace import Trace

_ENTRIES = Path(__file__).with_name("entries.sql").read_text("utf-8")
_CAUSES = {
    "held": "held",
    "limit": "a limit",
    "quota": "the quota",
    "too_few": "too few free GPUs",
    "fragmented": "fragmented free GPUs",
    "stranded": "CPUs or memory beside free GPUs",
    "behind": "jobs of higher order",
    "start_up": "start-up",
    "unknown": "a cause that the log does not show",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One user, account or server.

    Attributes
    ----------
    kind, name
        ``user``, ``account`` or ``server``, and its name in the log.
    summary
        Its numbers in one line.
    jobs
        Its worst jobs: job, gpus, submitted, status, and hours used, idle, failed and waited.
    """

    @property
    def anchor(self) -> str:
        """Fragment of the address of the entry."""
        return anchor(self.kind, self.name)

    kind: str
    name: str
    summary: str
    jobs: pd.DataFrame


def anchor(kind: str, name: str) -> str:
    """Return the fragment of the address of an entry, without characters that need escaping."""
    return f"{kind}-{name.encode().hex()}"


def entries(trace: Trace) -> list[Entry]:
    """Return the entries of a trace by kind, those with most GPU hours first."""
    jobs = _jobs(trace)
    if trace.has_values("placements"):
        jobs = jobs.join(trace.answer("job_servers"), "job_id", "left")
        jobs = jobs.select("* replace (coalesce(first, true) as first)")
    else:
        jobs = jobs.select("*, null::varchar as machine_id, null::double as part, true as first")
    listed = jobs.query("jobs_on_servers", _ENTRIES)
    assert listed is not None  # noqa: S101 - a SELECT returns rows
    rows = listed.df()
    return [
        Entry(kind, name, _summary(jobs.iloc[0]), _shown(jobs[jobs["job"].notna()]))
        for (kind, name), jobs in rows.groupby(["kind", "name"], sort=False)
    ]


def _jobs(trace: Trace) -> duckdb.DuckDBPyRelation:
    """Return a row per job: names, GPUs, hours used, idle, lost to failures and waited, cause."""
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
    return jobs


def _summary(numbers: "pd.Series[Any]") -> str:
    """Return the numbers of an entry as one line."""
    jobs, used_h = int(numbers["jobs"]), float(numbers["gpu_h"])
    parts = [f"{jobs:,} {'job' if jobs == 1 else 'jobs'}", f"{number(used_h)} GPU h"]
    for column, word in (("idle_h", "idle"), ("failed_h", "lost to failures")):
        hours = float(numbers[column])
        if hours > 0 and used_h > 0:
            parts.append(f"{number(hours)} GPU h {word} ({share(min(1.0, hours / used_h))})")
    if pd.notna(numbers["median_wait_h"]):
        parts.append(f"median wait {duration(3600 * float(numbers['median_wait_h']))}")
    if pd.notna(numbers["cause"]):
        parts.append(f"waits mostly for {_CAUSES.get(numbers['cause'], numbers['cause'])}")
    if numbers["failed_jobs"]:
        parts.append(f"{numbers['failed_jobs']:,} failed")
    return "; ".join(parts)


def _shown(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs as the page shows them."""
    return pd.DataFrame(
        {
            "job": jobs["job"],
            "GPUs": jobs["gpus"],
            "submitted": jobs["submitted_at"].dt.strftime("%Y-%m-%d %H:%M").fillna(NOT_KNOWN),
            "status": jobs["status"],
            **{
                title: jobs[column].astype(float).round(2)
                for title, column in (
                    ("GPU h", "job_gpu_h"),
                    ("idle GPU h", "job_idle_h"),
                    ("failed GPU h", "job_failed_h"),
                    ("wait h", "job_wait_h"),
                )
                if jobs[column].notna().any()
            },
        }
    )
