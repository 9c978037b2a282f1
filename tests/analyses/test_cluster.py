"""Compare occupancy, overtaking and locality with plain-Python references on a random cluster."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis.analyses import gpus_in_use, locality_relaxation, occupancy, out_of_order
from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, random_tables, trace_of, write_tables
from tests.analyses.references import capacities, held_minutes, trusted_waits
from tests.support.facts import number

Cluster = tuple[dict[str, pl.DataFrame], Trace]


@pytest.fixture(params=range(3))
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    tables = random_tables(request.param + 20, jobs=90)
    with Trace(write_tables(tmp_path / "t", tables)) as trace:
        yield tables, trace


def test_occupancy_equals_a_walk(cluster: Cluster) -> None:
    tables, trace = cluster
    busy, _, _ = held_minutes(tables)
    caps = capacities(tables)
    times = [t for _, t in busy]
    expected = defaultdict(list)
    for t in range(min(times), max(times) + 1):
        used = {m: len(busy.get((m, t), ())) for m in caps}
        level = 100 * sum(used.values()) // sum(caps.values())
        empty = 100 * sum(n == 0 for n in used.values()) / len(caps)
        partly = 100 * sum(0 < n < caps[m] for m, n in used.items()) / len(caps)
        expected[level].append((empty, partly))
    table = occupancy.compute(trace).table.set_index("used_pct").drop(columns=["pool", "gpus"])
    assert list(table.index) == sorted(expected)
    for level, rows in expected.items():
        empty, partly = np.mean(rows, axis=0)
        lo, hi = min(e for e, _ in rows), max(e for e, _ in rows)
        assert list(table.loc[level]) == pytest.approx([len(rows) / 60, empty, lo, hi, partly])


def test_gpus_in_use_per_day_and_vc_equal_a_walk(cluster: Cluster) -> None:
    tables, trace = cluster
    _, used, _ = held_minutes(tables)
    result = gpus_in_use.compute(trace)
    assert result.table["mean_gpus"].sum() * 24 * 60 == pytest.approx(sum(used.values()))
    largest = pd.Series(used).groupby(level=0, dropna=False).sum().max()
    assert result.fact("largest_vc_pct") == pytest.approx(100 * largest / sum(used.values()))


def test_overtaking_equals_a_comparison_of_all_pairs(cluster: Cluster) -> None:
    tables, trace = cluster
    waits = trusted_waits(trace)
    rows = trace.sql("select * from overtakings").pl().to_dicts()
    ours = {(r["job_id"], r["attempt"]): r for r in rows}
    assert len(ours) == len(waits) > 60
    _, _, minute = held_minutes(tables)
    caps = capacities(tables)
    largest = sorted(caps.values(), reverse=True)
    unplaceable: dict[int, int] = defaultdict(int)
    for w in waits:
        waiting = [
            o
            for o in waits
            if o["vc"] == w["vc"]
            and o["since_at"] < w["since_at"]
            and o["since_at"] <= w["started_at"] < o["started_at"]
        ]
        row = ours[w["job_id"], w["attempt"]]
        assert row["overtook"] == bool(waiting), w
        if waiting:
            first = min(waiting, key=lambda o: (o["since_at"], o["job_id"], o["attempt"]))
            assert row["waiter_job_id"] == first["job_id"]
            # a GPU is free for the waiter unless held both before and after this moment
            t, g = minute(w["started_at"]), first["gpus"]
            fewest = next((n for n in range(1, 6) if sum(largest[:n]) >= g), 5)
            free = sorted(
                (n - len(_held_through(trace, m, t, minute)) for m, n in caps.items()),
                reverse=True,
            )
            unplaceable[g] += sum(free[:fewest]) < g
    assert unplaceable, "the random cluster has overtakings"
    counted = dict(trace.sql("select waiter_gpus, harmless from overtaken_gangs").fetchall())
    assert counted == {g: unplaceable[g] for g in counted}
    assert sum(r["overtook"] for r in rows) == out_of_order.compute(trace).table["overtook"].sum()


def _held_through(
    trace: Trace, machine: str, t: int, minute: Callable[[datetime], int]
) -> set[int]:
    """GPUs whose spell of use began before minute t and ends after it."""
    [(origin,)] = trace.sql("select min(submitted_at) from jobs").fetchall()
    rows = trace.sql(
        "select gpu, started_at, until_at from busy_gpus where machine_id = $m", m=machine
    ).fetchall()
    assert minute(origin) == 0
    return {gpu for gpu, since, until in rows if minute(since) < t < minute(until)}


def test_two_jobs_that_swap_and_one_that_does_not(tmp_path: Path) -> None:
    machines = frame("machines", ("machine_id", "gpus"), [("m0", 4)])
    jobs = [
        ("big", "v", "u", 4, 0, "Pass"),
        ("small", "v", "u", 1, 5, "Pass"),
        ("late", "v", "u", 2, 20, "Pass"),
        ("other", "w", "u", 1, 6, "Pass"),
        ("first", "v", "u", 2, 0, "Pass"),
    ]
    # first holds 2 of 4 GPUs for 30 minutes: big must wait, small overtakes and could not be big's
    attempts = [
        ("first", 1, 0, 30),
        ("small", 1, 6, 10),
        ("other", 1, 6, 7),
        ("big", 1, 30, 40),
        ("late", 1, 40, 50),
    ]
    held = [("first", 1, "m0", 0), ("first", 1, "m0", 1), ("small", 1, "m0", 2)]
    held += [("other", 1, "m0", 3), *[("big", 1, "m0", g) for g in range(4)]]
    placements = frame("placements", ("job_id", "attempt", "machine_id", "gpu"), held)
    path = trace_of(tmp_path / "t", jobs, attempts, machines=machines, placements=placements)
    with Trace(path) as trace:
        result = out_of_order.compute(trace)
        overtook = trace.sql("select job_id from overtakings where overtook").fetchall()
    assert overtook == [("small",)]
    assert result.fact("out_of_order_pct") == 20
    assert result.fact("harmless_2_4_pct") == 100


def test_locality_counts_distinct_servers_and_tests_the_direction(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    machines = [(f"m{i}", 8) for i in range(4)]
    jobs, attempts, held = [], [], []
    for i in range(60):
        spread = i % 3 == 0
        wait = (5 if spread else 50) + float(rng.uniform(0, 3))
        jobs.append((f"j{i}", "v", f"u{i % 9}", 8, 100 * i, "Pass"))
        attempts.append((f"j{i}", 1, 100 * i + wait, 100 * i + wait + 10))
        # two containers on one server are one server
        servers = ("m0", "m1") if spread else ("m2",)
        held += [(f"j{i}", 1, servers[g % len(servers)], g, g // 4) for g in range(8)]
    columns = ("job_id", "attempt", "machine_id", "gpu", "container")
    path = trace_of(
        tmp_path / "t",
        jobs,
        attempts,
        placements=frame("placements", columns, held),
        machines=frame("machines", ("machine_id", "gpus"), machines),
    )
    with Trace(path) as trace:
        result = locality_relaxation.compute(trace)
    table = result.table.set_index("servers")
    assert table["attempts"].to_dict() == {1: 40, 2: 20}
    assert table["spread"].to_dict() == {1: 0, 2: 20}
    assert result.fact("spread_5_8_pct") == pytest.approx(100 / 3)
    assert 5 * 60 <= number(result, "median_wait_spread_5_8_s") <= 8 * 60
    assert "wider spread goes with shorter waits" in result.sentences[1]
