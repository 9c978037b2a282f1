"""List the users, accounts and servers of a trace, each with numbers and its worst jobs."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from philly_analysis.results import NOT_KNOWN, UNNAMED, duration, number, share
from philly_analysis.trace import Trace

MOST = {"user": 150, "account": 50, "server": 150}
"""Entries of each kind, those with most GPU hours first."""
WORST_JOBS = 10
"""Jobs of an entry: those with most GPU hours idle, lost to failures or waited for."""
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
    listed: list[Entry] = []
    for kind in ("user", "account"):
        if len(jobs[kind].unique()) > 1:
            listed += _entries(kind, jobs.rename(columns={kind: "name"}))
    if trace.has_values("placements"):
        listed += _entries("server", _on_servers(trace, jobs))
    return listed


def _entries(kind: str, rows: pd.DataFrame) -> Iterator[Entry]:
    """Yield the entries of the names with most GPU hours."""
    rows = rows[rows["name"] != UNNAMED]
    most = rows.groupby("name")["gpu_h"].sum().nlargest(MOST[kind]).index
    groups = rows[rows["name"].isin(most)].groupby("name")
    for name in most:
        jobs = groups.get_group(name)
        worst = jobs.nlargest(WORST_JOBS, "lost_h")
        yield Entry(kind, str(name), _summary(jobs), _shown(worst[worst["lost_h"] > 0]))


def _jobs(trace: Trace) -> pd.DataFrame:
    """Return a row per job: names, GPUs, hours used, idle, lost to failures and waited, cause."""
    jobs: pd.DataFrame = trace.answer("job_hours").df()
    lost = "lost_to_failures_by_output" if "failures" in trace.tables else "lost_to_failures"
    relations = {"idle_h": "worst_offenders_idle", "failed_h": lost, "cause": "job_wait_cause"}
    for column, relation in relations.items():
        if trace.has(relation):
            rows = trace.answer(relation).df().rename(columns={"lost_h": column})
            jobs = jobs.merge(rows[["job_id", column]], "left", "job_id")
        else:
            jobs[column] = None
    waited_gpu_h = jobs["wait_h"].astype(float) * jobs["gpus"].astype(float)
    hours = jobs[["idle_h", "failed_h"]].astype(float).assign(waited=waited_gpu_h)
    return jobs.assign(lost_h=hours.fillna(0).sum(axis=1))


def _on_servers(trace: Trace, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per job and server, with the job's part of the hours there."""
    placed: pd.DataFrame = trace.answer("job_servers").df()
    rows = placed.rename(columns={"machine_id": "name"}).merge(jobs, on="job_id")
    for column in ("gpu_h", "idle_h", "failed_h", "lost_h"):
        rows[column] = rows[column].astype(float) * rows["part"]
    return rows


def _summary(jobs: pd.DataFrame) -> str:
    """Return the numbers of an entry as one line."""
    used_h, waited = float(jobs["gpu_h"].sum()), jobs["wait_h"].astype(float).dropna()
    parts = [f"{len(jobs):,} {'job' if len(jobs) == 1 else 'jobs'}", f"{number(used_h)} GPU h"]
    for column, word in (("idle_h", "idle"), ("failed_h", "lost to failures")):
        hours = float(jobs[column].astype(float).sum())
        if hours > 0 and used_h > 0:
            parts.append(f"{number(hours)} GPU h {word} ({share(min(1.0, hours / used_h))})")
    if len(waited):
        parts.append(f"median wait {duration(3600 * waited.median())}")
    hours_by_cause = waited.groupby(jobs["cause"]).sum()
    if len(hours_by_cause) and hours_by_cause.max() > 0:
        cause = str(hours_by_cause.idxmax())
        parts.append(f"waits mostly for {_CAUSES.get(cause, cause)}")
    failed = int((jobs["status"].astype(str).str.lower().isin(["failed", "unsuccessful"])).sum())
    if failed:
        parts.append(f"{failed:,} failed")
    return "; ".join(parts)


def _shown(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs as the page shows them."""
    return pd.DataFrame(
        {
            "job": jobs["job_id"],
            "GPUs": jobs["gpus"],
            "submitted": jobs["submitted_at"].dt.strftime("%Y-%m-%d %H:%M").fillna(NOT_KNOWN),
            "status": jobs["status"],
            **{
                title: jobs[column].astype(float).round(2)
                for title, column in (
                    ("GPU h", "gpu_h"),
                    ("idle GPU h", "idle_h"),
                    ("failed GPU h", "failed_h"),
                    ("wait h", "wait_h"),
                )
                if jobs[column].notna().any()
            },
        }
    )
