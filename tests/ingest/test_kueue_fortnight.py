"""Compare ingest of a fortnight of Kueue's snapshots with the simulated jobs, waits and causes."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from philly_analysis.analyses import borrowing, stated_causes
from philly_analysis.ingest.source_registry import detect_source
from tests.ingest import kueue_snapshots as kueue
from tests.ingest.conftest import Ingest, Ingested, check_causes
from tests.ingest.kueue_cluster import QUEUES, Cluster, Run, Work, simulated
from tests.support.facts import number
from tests.support.slow import quick_first


def when(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)


def seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


@dataclass
class Shown:
    """An attempt that a snapshot showed, as snapshots can tell it."""

    work: Work
    run: Run
    attempt: int
    started: int
    ended: int | None
    exact: bool


def shown_attempts(cluster: Cluster, every_s: int) -> list[Shown]:
    """Return the attempts that snapshots of some interval show, by name and number."""
    shown = []
    for work in sorted(cluster.works, key=lambda work: work.name):
        attempts: list[Shown] = []
        for place, run in enumerate(work.runs):
            final = run is work.runs[-1]
            until = run.ended + kueue.KEPT_S if final else run.ended
            if not kueue.is_seen(run.admitted, until, every_s):
                if attempts:
                    attempts[-1].exact = False
                continue
            started = run.admitted
            if run.ready is not None and kueue.is_seen(run.ready, until, every_s):
                started = run.ready
            seen = final or kueue.is_seen(run.ended, work.runs[place + 1].reserved, every_s)
            ended = run.ended if seen else None
            attempts.append(Shown(work, run, len(attempts) + 1, started, ended, True))
        shown += attempts
    return shown


REASONS = {
    "Preempted": "preempted",
    "PodsReadyTimeout": "requeued",
    "Succeeded": "completed",
    "Failed": "failed",
}

CASES = [
    (1800, 20, 2, "v1beta1", True),
    (1800, 250, 14, "v1beta1", True),
    (1800, 250, 14, "v1beta2", False),
    (300, 250, 14, "v1beta2", True),
    (60, 250, 14, "v1beta2", True),
]
"""Seconds between snapshots, jobs, days, version of the API, and whether reasons are typed."""


@pytest.mark.parametrize(("every_s", "jobs", "days", "version", "typed"), quick_first(CASES))
def test_snapshots_give_the_schedule_and_the_causes_back(
    every_s: int,
    jobs: int,
    days: int,
    version: str,
    typed: bool,
    tmp_path: Path,
    ingested: Ingest,
) -> None:
    cluster = simulated(seed=5, jobs=jobs, days=days)
    raw = kueue.write(tmp_path / "raw", cluster, every_s, version, typed=typed)
    assert detect_source(raw)[0] == "kubernetes"
    trace = ingested("kubernetes", raw)
    check_jobs(trace, cluster)
    check_attempts(trace, cluster, every_s)
    check_quotas(trace)
    if days == 14:
        check_causes(trace, cluster.shares())
        check_statements(trace, typed)
        check_borrowing(trace, cluster, every_s)


def check_jobs(trace: Ingested, cluster: Cluster) -> None:
    rows = trace.rows(
        "select job_id, vc, account, gpus, submitted_at, status from jobs order by submitted_at"
    )
    assert rows == [
        (
            *(f"team/{work.name}", work.queue, "team", work.gpus, when(work.submitted)),
            "Failed" if work.fails else "Pass",
        )
        for work in cluster.works
    ]


def check_attempts(trace: Ingested, cluster: Cluster, every_s: int) -> None:
    """Check starts, ends, servers and notes; waits are right within the interval of snapshots."""
    rows = trace.rows(
        "select job_id, attempt, gpus, started_at, ended_at, end_reason, flag from attempts "
        "order by job_id, attempt"
    )
    shown = shown_attempts(cluster, every_s)
    assert [row[:4] for row in rows] == [
        (f"team/{s.work.name}", s.attempt, s.work.gpus, when(s.started)) for s in shown
    ]
    for (*_, ended_at, end_reason, flag), s in zip(rows, shown, strict=True):
        assert flag is None
        if s.ended is not None:
            assert (ended_at, end_reason) == (when(s.ended), REASONS[s.run.reason])
        elif s.exact:
            assert end_reason is None
            assert 0 < s.run.ended - seconds(ended_at) <= every_s
    missing = [n for n in trace.manifest.notes if "admitted again between two snapshots" in n]
    unseen = sum(s.ended is None and s.exact for s in shown)
    assert len(missing) == bool(unseen)
    assert all(int(note.split()[0]) >= unseen for note in missing)
    held = trace.rows("select job_id, attempt, machine_id, gpus from placements order by all")
    assert held == [
        (f"team/{s.work.name}", s.attempt, host, gpus)
        for s in shown
        for host, gpus in sorted(s.run.placed.items())
    ]


def check_quotas(trace: Ingested) -> None:
    assert trace.rows("select vc, gpus from virtual_clusters order by vc") == sorted(
        (name, queue.quota) for name, queue in QUEUES.items()
    )
    cohorts = trace.rows("select vc, cohort, borrowing_limit, lending_limit from cohorts")
    assert sorted(cohorts) == [("product", "all", None, 6), ("research", "all", 6, None)]


def check_statements(trace: Ingested, typed: bool) -> None:
    """Check that Kueue's reasons and the causes from arithmetic alone agree."""
    result = stated_causes.compute(trace.trace)
    assert number(result, "start_up_agree_pct") > 95
    if typed:
        assert number(result, "quota_agree_pct") > 90
        assert number(result, "agree_pct") > 90


def check_borrowing(trace: Ingested, cluster: Cluster, every_s: int) -> None:
    """Check who borrowed, and who waited for lent quota."""
    result = borrowing.compute(trace.trace)
    rows = result.table.set_index("vc")
    assert sorted(rows.index) == ["product", "research"]
    slack = 0.02 if every_s <= 300 else 0.06
    for vc in rows.index:
        truth = cluster.borrowed[vc] / 3600
        assert rows["borrowed_gpu_h"][vc] == pytest.approx(truth, rel=slack, abs=1)
        starved = cluster.starved[vc] / 3600
        assert rows["starved_h"][vc] == pytest.approx(starved, rel=5 * slack, abs=2)
    assert result.fact("borrower") == max(cluster.borrowed, key=cluster.borrowed.__getitem__)
