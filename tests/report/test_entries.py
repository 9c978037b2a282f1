"""Check the page of users, accounts and servers against sums of the rows in plain Python."""

import re
from collections import defaultdict
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from philly_analysis import report
from philly_analysis.analyses import CHAPTERS, FRONT
from philly_analysis.report import trace_page
from philly_analysis.report.entries import Entry, anchor, entries
from philly_analysis.trace.trace import Trace
from tests.support.small_traces import JOBS, paper_trace

HOSTILE = '"><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace whose first user has a hostile name, and the other jobs a second user."""
    users = [HOSTILE if i % 2 == 0 else "other" for i in range(len(JOBS))]
    jobs = JOBS.with_columns(user=pl.Series(users))
    return paper_trace(tmp_path_factory.mktemp("entries") / "paper", jobs=jobs)


@pytest.fixture(scope="module")
def listed(path: Path) -> list[Entry]:
    with Trace(path) as trace:
        return entries(trace)


def test_numbers_are_those_of_the_jobs_of_a_name(path: Path, listed: list[Entry]) -> None:
    with Trace(path) as trace:
        users = dict(trace.sql("select job_id, user from gpu_jobs").fetchall())
        runs = trace.sql("select job_id, run_s, gpus from attempt_runs").fetchall()
    hours: defaultdict[str, float] = defaultdict(float)
    jobs: defaultdict[str, set[str]] = defaultdict(set)
    for job_id, user in users.items():
        jobs[user].add(job_id)
    for job_id, run_s, gpus in runs:
        hours[users[job_id]] += (run_s or 0) * gpus / 3600
    shown = {entry.name: entry.summary for entry in listed if entry.kind == "user"}
    assert shown.keys() == jobs.keys() == {HOSTILE, "other"}
    for user, summary in shown.items():
        count, used = summary.split("; ")[:2]
        assert int(count.split()[0]) == len(jobs[user])
        assert float(used.removesuffix(" GPU h").replace(",", "")) == pytest.approx(
            hours[user], rel=0.02
        )
    names = [entry.name for entry in listed if entry.kind == "user"]
    assert names == sorted(names, key=lambda name: -hours[name])


def test_worst_jobs_lost_most_hours(path: Path, listed: list[Entry]) -> None:
    with Trace(path) as trace:
        jobs = trace.sql("select job_id, user, gpus, wait_h from job_hours").fetchall()
        failed = dict(trace.sql("select job_id, lost_h from lost_to_failures").fetchall())
    lost: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for job_id, user, gpus, wait_h in jobs:
        lost[user].append((-round((wait_h or 0) * gpus + failed.get(job_id, 0), 9), job_id))
    for entry in listed:
        if entry.kind == "user":
            worst = [job_id for hours, job_id in sorted(lost[entry.name]) if hours < 0][:10]
            assert entry.jobs["job"].tolist() == worst


def test_hours_of_servers_add_up_to_the_hours_of_placed_jobs(
    path: Path, listed: list[Entry]
) -> None:
    servers = [entry for entry in listed if entry.kind == "server"]
    with Trace(path) as trace:
        placed = trace.sql("select distinct job_id, machine_id from placements").fetchall()
    counts = {entry.name: int(entry.summary.split()[0]) for entry in servers}
    assert counts == {name: len({j for j, m in placed if m == name}) for _, name in placed}


def test_names_are_escaped_and_linked(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_page, "CHAPTERS", {FRONT: CHAPTERS[FRONT]})
    page = report(path, tmp_path).path
    text = (page.parent / "entries.html").read_text("utf-8")
    assert "<img" not in text
    assert HOSTILE in unescape(text)
    ids = set(re.findall(r'<details class="entry" id="([^"]+)"', text))
    assert anchor("user", "other") in ids
    linked = set(re.findall(r'href="entries\.html#([^"]+)"', page.read_text("utf-8")))
    assert linked <= ids
