"""List the users, accounts and servers of a trace, each with numbers and its worst jobs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

import pandas as pd

from philly_analysis.analyses.shared.wait_cause import Cause, named_causes
from philly_analysis.results import NOT_KNOWN, UNNAMED
from philly_analysis.trace import Trace

MOST = {"user": 150, "account": 50, "server": 150}
"""Entries of each kind, those with most GPU hours first."""
WORST_JOBS = 10
"""Jobs of an entry: those with most GPU hours idle, lost to failures or waited for."""
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
    listed: list[Entry] = []
    for kind in ("user", "account"):
        if len(jobs[kind].unique()) > 1:
            listed += _entries(kind, jobs.assign(name=jobs[kind]), causes)
    if trace.has_values("placements"):
        listed += _entries("server", _on_servers(trace, jobs), causes)
    return listed


def _causes(trace: Trace) -> Mapping[str, Cause]:
    """Return the causes of waits with their words, by the way in which quotas are known."""
    if not trace.has("job_wait_cause"):
        return {}
    methods = {method for (method,) in trace.answer("wait_causes").unique("method").fetchall()}
    return named_causes("given" if "given" in methods else min(methods, default="none"))


def _entries(kind: str, rows: pd.DataFrame, causes: Mapping[str, Cause]) -> Iterator[Entry]:
    """Yield the entries of the names with most GPU hours."""
    rows = rows[rows["name"] != UNNAMED]
    most = rows.groupby("name")["gpu_h"].sum().nlargest(MOST[kind]).index
    groups = rows[rows["name"].isin(most)].groupby("name")
    for name in most:
        jobs = groups.get_group(name)
        worst = jobs.nlargest(WORST_JOBS, "lost_h")
        worst = worst[worst["lost_h"] > 0]
        yield Entry(kind, str(name), _numbers(jobs, causes), _shown(worst, causes))


def _jobs(trace: Trace) -> pd.DataFrame:
    """Return a row per job: names, GPUs, hours, cause of the wait, failure reason."""
    jobs: pd.DataFrame = trace.answer("job_hours").df()
    lost = "lost_to_failures_by_output" if "failures" in trace.tables else "lost_to_failures"
    relations = {"idle_h": "worst_offenders_idle", "failed_h": lost, "cause": "job_wait_cause"}
    for column, relation in relations.items():
        if trace.has(relation):
            rows = trace.answer(relation).df().rename(columns={"lost_h": column})
            jobs = jobs.merge(rows[["job_id", column]], "left", "job_id")
        else:
            jobs[column] = None
    jobs = jobs.merge(_failure_reasons(trace), "left", "job_id")
    waited_gpu_h = jobs["wait_h"].astype(float) * jobs["gpus"].astype(float)
    hours = jobs[["idle_h", "failed_h"]].astype(float).assign(waited=waited_gpu_h)
    return jobs.assign(lost_h=hours.fillna(0).sum(axis=1))


def _failure_reasons(trace: Trace) -> pd.DataFrame:
    """Return the most frequent failure reason of each job whose output is known."""
    if not trace.has_values("failures"):
        return pd.DataFrame({"job_id": pd.Series(dtype=str), "reason": pd.Series(dtype=str)})
    reasons: pd.DataFrame = trace.sql(
        "select job_id, mode(reason order by reason) as reason from failures group by job_id"
    ).df()
    return reasons


def _on_servers(trace: Trace, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per job and server, with the job's part of the hours there."""
    placed: pd.DataFrame = trace.answer("job_servers").df()
    rows = placed.rename(columns={"machine_id": "name"}).merge(jobs, on="job_id")
    for column in ("gpu_h", "idle_h", "failed_h", "lost_h"):
        rows[column] = rows[column].astype(float) * rows["part"]
    return rows


def _numbers(jobs: pd.DataFrame, causes: Mapping[str, Cause]) -> dict[str, float | str | None]:
    """Return the numbers and words of an entry, by column of the list."""
    used_h, waited = float(jobs["gpu_h"].sum()), jobs["wait_h"].astype(float).dropna()
    numbers: dict[str, float | str | None] = {"jobs": len(jobs), "GPU h": used_h}
    for column, word in (("idle_h", "idle"), ("failed_h", "lost")):
        hours = jobs[column].astype(float)
        lost_h = float(hours.sum()) if hours.notna().any() else None
        numbers[f"{word} GPU h"] = lost_h
        of_used = min(100.0, 100 * lost_h / used_h) if lost_h is not None and used_h > 0 else None
        numbers[f"{word} %"] = of_used
    numbers["median wait"] = 3600 * float(waited.median()) if len(waited) else None
    hours_by_cause = waited.groupby(jobs["cause"]).sum()
    waits = len(hours_by_cause) > 0 and hours_by_cause.max() > 0
    numbers["waits for"] = causes[str(hours_by_cause.idxmax())].label if waits else None
    failed = jobs["status"].astype(str).str.lower().isin(["failed", "unsuccessful"])
    numbers["failed jobs"] = int(failed.sum())
    numbers["fails by"] = str(top.iloc[0]) if len(top := jobs["reason"].mode()) else None
    return numbers


def _shown(jobs: pd.DataFrame, causes: Mapping[str, Cause]) -> pd.DataFrame:
    """Return jobs as the page shows them."""
    labels = {name: cause.label for name, cause in causes.items()}
    return pd.DataFrame(
        {
            "job": jobs["job_id"],
            "user": jobs["user"],
            "account": jobs["account"],
            "GPUs": jobs["gpus"],
            "submitted": jobs["submitted_at"].dt.strftime("%Y-%m-%d %H:%M").fillna(NOT_KNOWN),
            "status": jobs["status"],
            "GPU h": jobs["gpu_h"].astype(float).round(2),
            "idle GPU h": jobs["idle_h"].astype(float).round(2),
            "lost GPU h": jobs["failed_h"].astype(float).round(2),
            "wait h": jobs["wait_h"].astype(float).round(2),
            "waits for": jobs["cause"].map(labels),
            "fails by": jobs["reason"],
        }
    )
