"""Check how samples are counted per attempt: once, in slices, in any process."""

import multiprocessing
import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from philly_analysis import analyze
from philly_analysis.report.computing import read_samples
from philly_analysis.report.findings import ANALYSES, lacking, relevant
from philly_analysis.trace import week_counts
from philly_analysis.trace.relations import relations, required_relations
from philly_analysis.trace.trace import Trace
from tests.analyses.samples import Tables, sampled_cluster
from tests.support.clusters import MakeTrace, frame, write_tables


@pytest.fixture(scope="module", params=[3, pytest.param(4, marks=pytest.mark.slow)])
def cluster(request: pytest.FixtureRequest) -> Tables:
    return sampled_cluster(request.param)


@pytest.mark.slow
def test_a_page_reads_the_samples_once(
    cluster: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    count = week_counts.WeekCounter.count

    def noted(
        self: week_counts.WeekCounter, table: str, partitions: Sequence[week_counts.Partition]
    ) -> None:
        read.append(table)
        count(self, table, partitions)

    monkeypatch.setattr(week_counts.WeekCounter, "count", noted)
    write_tables(tmp_path / "t", cluster)
    with Trace(tmp_path / "t") as trace:
        asked = [name for name in relevant(trace) if not lacking(trace, name)]
        assert len({ANALYSES[name].sample_counts for name in asked}) == 5  # with None
        read_samples(trace, asked)
        assert sorted(read) == ["gpu_samples", "host_samples"]
        analyze(trace, *asked)
        assert len(read) == 2


@pytest.mark.slow
def test_which_analyses_read_samples(cluster: Tables, tmp_path: Path) -> None:
    write_tables(tmp_path / "t", cluster)
    results = analyze(tmp_path / "t")
    for name, result in results.items():
        order, _ = required_relations([one for one in result.reads if one in relations()])
        counts = [relation.name for relation in order if relation.samples]
        assert counts == [n for n in [ANALYSES[name].sample_counts] if n], name
    counting = {a.name for a in ANALYSES.values() if a.sample_counts}
    assert counting - set(results) == {"notebook_definitions"}  # of Philly only


@pytest.mark.slow
def test_counts_are_the_same_in_other_processes(cluster: Tables, tmp_path: Path) -> None:
    write_tables(tmp_path / "t", cluster)
    shutil.copytree(tmp_path / "t", tmp_path / "u")
    with (
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes,
        Trace(tmp_path / "t") as here,
        Trace(tmp_path / "u", executor=processes) as there,
    ):
        query = "from gpu_use_bins order by all"
        assert here.sql(query).fetchall() == there.sql(query).fetchall() != []


def test_slices_cut_at_weeks(make_trace: MakeTrace) -> None:
    # 2017-10-03 is a Tuesday: an attempt from Sunday 23:50 to Monday 00:10 has two weeks
    first = 5 * 24 * 60 + 23 * 60 + 50
    trace = make_trace(
        [("j", "v", "u", 1, 0, "Pass")],
        [("j", 1, first, first + 20)],
        machines={"m": 1},
        placements=[("j", 1, "m", 0)],
        gpu_samples=[(first + i, "m", [50.0]) for i in range(-5, 25)],
    )
    rows = trace.sql("select week::date::varchar, bin, minutes from gpu_use_bins order by all")
    assert rows.fetchall() == [("2017-10-02", 50, 10), ("2017-10-09", 50, 10)]
    # the table has all its rows
    assert trace.sql("select count(*) from gpu_samples").fetchall() == [(30,)]
    assert len(list((trace.path / "derived").glob("gpu_use_bins-*.parquet/*.parquet"))) == 2


def test_idle_periods_by_hand(make_trace: MakeTrace) -> None:
    """Each attempt starts a minute after the one before, at 23:00 and later; GPU 2 of m0 is busy.

    a: idle until it computes at 120 min; then for an hour, none read for 90 min, and idle again
    until it is offline. b: just an hour, three times. c: too few minutes with readings. d: flagged.
    e: on an unknown GPU. f: its other server computes.
    """
    idle = (0, 30, 60, 90, 150, 180, 210, 300, 360, 420)
    read: dict[tuple[str, str, int, int], list[int | None]]
    read = {("a", "m0", 1800, minute): [0, 0, 100] for minute in (-30, *idle, 480)}
    read |= {("a", "m0", 1800, 120): [0, 5, 100], ("a", "m0", 1800, 450): [None, None, 100]}
    for job, machine in (("b", "m1"), ("d", "m3"), ("e", "m4")):
        read |= {(job, machine, 1800, minute): [0, 0] for minute in (0, 60)}
    read |= {("b", "m1", 1800, minute): [0, 0] for minute in (120, 180, 240, 300)}
    read |= {("b", "m1", 1800, minute): [5, 0] for minute in (90, 210)}
    read |= {("c", "m2", 600, minute): [0, 0] for minute in (0, 30, 60)}
    for minute in range(0, 270, 30):
        read |= {("f", "m5", 1800, minute): [0, 0], ("f", "m6", 1800, minute): [50, 0]}
    start = {job: 23 * 60 + i for i, job in enumerate("abcdef")}
    gpus = {"a": 2, "b": 1, "c": 2, "d": 1, "e": 1, "f": 2}
    placed = "a m0 0, a m0 1, b m1 0, c m2 0, c m2 1, d m3 0, e m4 , f m5 0, f m6 0"
    held = [holding.split(" ") for holding in placed.split(", ")]
    trace = make_trace(
        [(job, "v", "u", n, start[job], "Pass") for job, n in gpus.items()],
        frame(
            "attempts",
            ("job_id", "attempt", "started_at", "ended_at", "flag"),
            [(j, 1, at, at + 480, "odd" if j == "d" else None) for j, at in start.items()],
        ),
        machines={f"m{i}": 2 + (i == 0) for i in range(7)},
        placements=[(job, 1, machine, int(gpu) if gpu else None) for job, machine, gpu in held],
        gpu_samples=frame(
            "gpu_samples",
            ("sampled_at", "machine_id", "seconds", "util_pct"),
            [(start[job] + minute, m, s, util) for (job, m, s, minute), util in read.items()],
        ),
    )
    rows = trace.sql(
        "select job_id, idle_s / 60, until_s / 60, resumed from idle_streaks order by all"
    )
    assert rows.fetchall() == [
        ("a", 0, 90, True),
        ("a", 150, 210, False),
        ("a", 300, 420, False),
        ("b", 0, 60, True),
        ("b", 120, 180, True),
        ("b", 240, 300, False),
    ]
