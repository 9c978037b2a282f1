"""Compare causes of delay with a hand-drawn cluster and the simulator."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from philly_analysis.analyses import delay_causes
from philly_analysis.simulator.simulation import WAIT_CAUSES, simulate
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import Workload
from tests.analyses.clusters import frame, trace_of
from tests.support.facts import number

_HELD = ("job_id", "attempt", "machine_id", "gpu")


@pytest.fixture
def hand_drawn(tmp_path: Path) -> Iterator[Trace]:
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
    placements = frame("placements", _HELD, [*rows, ("e", 1, "m1", 2)])
    path = trace_of(
        tmp_path / "t",
        jobs,
        attempts,
        placements=placements,
        machines=frame("machines", ("machine_id", "gpus"), [(m, 4) for m in ("m0", "m1", "m2")]),
        virtual_clusters=frame("virtual_clusters", ("vc", "gpus"), [("x", 8), ("y", 4)]),
    )
    with Trace(path) as trace:
        yield trace


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
    machines = [(f"m{i}", 8) for i in range(6)]
    source = trace_of(
        tmp_path / "source",
        jobs,
        attempts,
        machines=frame("machines", ("machine_id", "gpus"), machines),
        virtual_clusters=frame(
            "virtual_clusters", ("vc", "gpus"), [("v0", 12), ("v1", 16), ("v2", 20)]
        ),
    )
    out = simulate(Workload.from_trace(source), policy, tmp_path / "out")
    known = pl.read_parquet(out / WAIT_CAUSES)
    with Trace(out) as trace:
        ours = trace.sql("select * from wait_causes where method = 'given' and wait_s > 0").pl()
    both = known.join(ours, on=["job_id", "attempt"], suffix="_ours")
    assert both.height == known.height == ours.height > 100
    for known_s, ours_s in (
        ("fair_share_s", "fair_share_s_ours"),
        ("fragmentation_s", "fragmentation_s_ours"),
        ("other_s", "unknown_s"),
    ):
        assert ((both[known_s] - both[ours_s]).abs() < 1e-3).all()
    same = both["cause"].replace({"other": "unknown"}) == both["cause_ours"]
    assert same.to_numpy().mean() >= 0.95
    assert both["cause"].n_unique() == 3
