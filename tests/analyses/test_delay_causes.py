"""Compare causes of delay with a hand-drawn cluster and the simulator."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from philly_analysis.analyses import delay_causes, why_waits
from philly_analysis.analyses.shared import completeness
from philly_analysis.simulator.simulation import simulate
from philly_analysis.trace.manifest import Sample
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import Workload
from tests.analyses.rich_trace import rich_tables
from tests.support.clusters import MakeTrace, trace_of, write_tables
from tests.support.facts import number
from tests.support.simulated import simulated_causes


@pytest.fixture
def hand_drawn(make_trace: MakeTrace) -> Trace:
    """Three servers of 4 GPUs; VC x may use 8 GPUs, VC y 4. Minutes.

    ::

        m0  a a a a a a a a . . . . . .      a: x, 4 GPUs, 0-80
        m1  b b . . . . . g g g g . . .      b: x, 2 GPUs, 0-20     g: x, 2 GPUs, 70-110
        m2  c c c c c c d d d d d . . .      c: y, 3 GPUs, 0-60     d: y, 3 GPUs, 60-110
              e e e e e e e e                e: y, 1 GPU (m1), 10-90
    """
    jobs = [
        ("a", "x", "ann", 4, 0, "Pass"),
        ("b", "x", "ann", 2, 0, "Pass"),
        ("c", "y", "bob", 3, 0, "Pass"),
        # y has 4 of its 4 from minute 10: over its quota until c ends
        ("d", "y", "bob", 3, 20, "Pass"),
        ("e", "y", "cid", 1, 10, "Pass"),
        # x has 4 of 8 from minute 20: 4 more are within quota, and 3 + 1 + ... are free, but
        # no server has 4 free before a ends at 80
        ("f", "x", "ann", 4, 30, "Pass"),
        # within quota and m1 has 3 free all the time: nothing in the log explains this wait
        ("g", "x", "ann", 2, 40, "Pass"),
        # x has 6 (a, g), 4 more are too many, until a ends at 80; then m0 is f's
        ("h", "x", "ann", 4, 72, "Pass"),
    ]
    attempts = [
        ("a", 1, 0, 80),
        ("b", 1, 0, 20),
        ("c", 1, 0, 60),
        ("d", 1, 60, 110),
        ("e", 1, 10, 90),
        ("f", 1, 80, 100),
        ("g", 1, 70, 110),
        ("h", 1, 100, 120),
        ("b", 2, 20, 20),
    ]
    held = {"a": "m0", "b": "m1", "c": "m2", "d": "m2", "f": "m0", "g": "m1", "h": "m0"}
    gpus = {job: n for job, _, _, n, _, _ in jobs}
    rows = [(j, a, held[j], g) for j, a, *_ in attempts if j != "e" for g in range(gpus[j])]
    return make_trace(
        jobs,
        attempts,
        placements=[*rows, ("e", 1, "m1", 2)],
        machines={"m0": 4, "m1": 4, "m2": 4},
        virtual_clusters={"x": 8, "y": 4},
    )


def test_counts_and_times_add_up(hand_drawn: Trace) -> None:
    result = delay_causes.compute(hand_drawn)
    table = result.table
    assert set(table["method"]) == {"given"}
    assert table["waits"].sum() == number(result, "waits") + number(result, "no_wait") == 9
    by_cause = table.groupby("cause")["time_s"].sum() / 60
    assert by_cause[["fair_share", "fragmentation", "unknown"]].to_list() == [78, 40, 30]
    assert result.fact("fair_share_pct") == pytest.approx(200 / 3)
    assert result.fact("fragmentation_time_pct") == pytest.approx(100 * 40 / 118)


@pytest.mark.slow
def test_shares_by_estimated_quotas_are_those_of_their_rows(tmp_path: Path) -> None:
    trace = Trace(write_tables(tmp_path / "t", rich_tables(1, estimated=True)))
    result = delay_causes.compute(trace)
    causes = trace.sql("select * from study_causes").df()
    shares = {}
    for method, rows in causes.groupby("method"):
        decided = rows[rows["cause"].isin(["fair_share", "fragmentation"])]
        shares[f"fair_share_{method}_pct"] = 100 * (decided["cause"] == "fair_share").mean()
    assert len(shares) == 3 and max(shares.values()) > 0
    assert {name: result.fact(name) for name in shares} == pytest.approx(shares)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["philly", "fifo"])
def test_the_simulator_knows_the_same_causes(tmp_path: Path, policy: str) -> None:
    rng = np.random.default_rng(5)
    n = 500
    submitted = np.sort(rng.uniform(0, 3_000, n))
    gpus = rng.choice([1, 2, 4, 8], n, p=[0.6, 0.15, 0.15, 0.1])
    jobs = [
        (f"j{i}", f"v{i % 3}", f"u{i % 7}", int(gpus[i]), float(submitted[i]), "Pass")
        for i in range(n)
    ]
    attempts = [
        (f"j{i}", 1, float(submitted[i]), float(submitted[i] + rng.lognormal(4, 1.2)))
        for i in range(n)
    ]
    source = trace_of(
        tmp_path / "source",
        jobs,
        attempts,
        machines={f"m{i}": 8 for i in range(6)},
        virtual_clusters={"v0": 12, "v1": 16, "v2": 20},
    )
    out = simulate(Workload.from_trace(source), policy, tmp_path / "out")
    simulated = simulated_causes(out)
    with Trace(out) as trace:
        ours = trace.sql(
            "select *, unknown_s + start_up_s as unexplained_s from study_causes "
            "where method = 'given' and wait_s > 0"
        ).pl()
    both = simulated.join(ours, on=["job_id", "attempt"], suffix="_ours")
    assert both.height == simulated.height == ours.height > 100
    for known_s, ours_s in (
        ("fair_share_s", "fair_share_s_ours"),
        ("fragmentation_s", "fragmentation_s_ours"),
        ("other_s", "unexplained_s"),
    ):
        assert ((both[known_s] - both[ours_s]).abs() < 1e-3).all()
    ours_cause = both["cause_ours"].replace({"unknown": "other", "start_up": "other"})
    same = both["cause"] == ours_cause
    assert same.to_numpy().mean() >= 0.95
    assert both["cause"].n_unique() == 3


def start_ups(make_trace: MakeTrace, waits_s: list[float], gpus: int = 8) -> Trace:
    """A server of 8 GPUs; jobs of one GPU, a day apart, that wait although all are free."""
    jobs = [(f"j{i}", "v", "ann", 1, 1440 * i, "Pass") for i in range(len(waits_s))]
    starts = [1440 * i + wait_s / 60 for i, wait_s in enumerate(waits_s)]
    return make_trace(
        jobs,
        [(f"j{i}", 1, at, at + 60) for i, at in enumerate(starts)],
        placements=[(f"j{i}", 1, "m0", 0) for i in range(len(jobs))],
        machines={"m0": gpus, "never": 8},
        virtual_clusters={"v": 8},
    )


# quartiles 10 and 40 s: the fence is 40 * 4 ** 1.5 = 320 s
SHORT_S = [10.0] * 8 + [20.0] * 6 + [40.0] * 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("waits_s", "limit_s", "found"),
    [
        ([*SHORT_S, 20, 319.0], 320, ["start_up"]),
        ([*SHORT_S, 20, 321.0], 320, ["unknown"]),
        # an hour at most
        ([60 * w for w in SHORT_S] + [3599.0, 3601.0], 3600, ["start_up", "unknown"]),
        # enough to tell what is usual
        ([20.0] * 10, 20, ["start_up"]),
        ([20.0] * 9, None, ["unknown"]),
        # nine waits, and a start without a wait
        ([20.0] * 9 + [0.0], None, ["unknown", "none"]),
    ],
)
def test_start_up_is_a_wait_with_room_as_short_as_most(
    make_trace: MakeTrace, waits_s: list[float], limit_s: float | None, found: list[str]
) -> None:
    trace = start_ups(make_trace, waits_s)
    limits = trace.sql("select longest_s from start_up_limits").fetchall()
    causes = dict(trace.sql("select wait_s, cause from study_causes").fetchall())
    [answer, *_] = delay_causes.compute(trace).sentences
    assert limits == ([(pytest.approx(limit_s),)] if limit_s else [])
    assert [causes[w] for w in waits_s[-len(found) :]] == found
    # a little used server and waits that nothing explains: other jobs are missing
    assert ("cannot be determined" in answer) == (limit_s is None)


@pytest.mark.slow
def test_waits_are_no_start_up_where_most_jobs_start_at_once(make_trace: MakeTrace) -> None:
    trace = start_ups(make_trace, [0.0] * 40 + [20.0] * 10)
    assert trace.sql("select longest_s from start_up_limits").fetchall() == [(1.0,)]
    causes = "select distinct cause from study_causes where wait_s > 0"
    assert trace.sql(causes).fetchall() == [("unknown",)]


def test_servers_that_never_ran_a_job_are_not_free(make_trace: MakeTrace) -> None:
    trace = start_ups(make_trace, [60.0] * 30, gpus=1)
    free = trace.sql("select distinct free_gpus from free_capacity").fetchall()
    assert sorted(free) == [(0,), (1,)]


@pytest.mark.slow
@pytest.mark.parametrize(("by", "known"), [(("window",), True), (("window", "gang"), False)])
def test_a_sample_of_jobs_has_no_causes(
    hand_drawn: Trace, monkeypatch: pytest.MonkeyPatch, by: tuple[str, ...], known: bool
) -> None:
    sampled = replace(hand_drawn.manifest, sample=Sample("Some jobs.", by))
    monkeypatch.setattr(hand_drawn, "manifest", sampled)
    for compute in (delay_causes.compute, why_waits.compute):
        result = compute(hand_drawn)
        full = [f.name for f in result.facts if f.name == "too_few_pct"]
        assert ("cannot be determined" in " ".join(result.sentences)) != known
        assert bool(full) == (known and result.name == "why_waits")
    assert (number(delay_causes.compute(hand_drawn), "waits") > 0) == known


@pytest.mark.parametrize(
    ("held_h", "unknown_s", "missing"),
    [(24, 50, True), (25, 50, False), (24, 49, False), (0, 100, True)],
)
def test_a_little_used_cluster_with_unexplained_waits_lacks_jobs(
    held_h: float, unknown_s: float, missing: bool
) -> None:
    idle = pd.DataFrame({"held_gpu_h": [held_h, 0], "capacity_gpu_h": [40.0, 60.0]})
    causes = pd.DataFrame(
        {
            "method": ["p99", "p99", "peak"],
            "cause": ["unknown", "fragmentation", "unknown"],
            "time_s": [unknown_s, 100 - unknown_s, 1e6],
        }
    )
    answers = {"idle_gpus": idle, "delay_causes": causes}
    trace = Mock(manifest=Mock(sample=None), has=answers.__contains__)
    trace.answer.side_effect = lambda name: Mock(df=lambda: answers[name])
    reason = completeness.missing_jobs(trace)
    assert bool(reason) == missing
    if missing:
        assert f"the jobs use {held_h}" in reason
