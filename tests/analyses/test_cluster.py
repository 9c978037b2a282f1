"""Check overtaking and locality on clusters with known answers."""

import numpy as np
import pytest

from philly_analysis.analyses import locality_relaxation, out_of_order
from tests.support.clusters import MakeTrace, frame
from tests.support.facts import number


def test_two_jobs_that_swap_and_one_that_does_not(make_trace: MakeTrace) -> None:
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
    trace = make_trace(jobs, attempts, machines={"m0": 4}, placements=held)
    result = out_of_order.compute(trace)
    overtook = trace.sql("select job_id from overtakings where overtook").fetchall()
    assert overtook == [("small",)]
    assert result.fact("out_of_order_pct") == 20
    assert result.fact("harmless_2_4_pct") == 100


def test_locality_counts_distinct_servers_and_tests_the_direction(make_trace: MakeTrace) -> None:
    rng = np.random.default_rng(3)
    jobs, attempts, held = [], [], []
    for i in range(60):
        spread = i % 3 == 0
        wait = (5 if spread else 50) + float(rng.uniform(0, 3))
        jobs.append((f"j{i}", "v", f"u{i % 9}", 8, 100 * i, "Pass"))
        attempts.append((f"j{i}", 1, 100 * i + wait, 100 * i + wait + 10))
        # two containers on one server are one server
        servers = ("m0", "m1") if spread else ("m2",)
        held += [(f"j{i}", 1, servers[g % len(servers)], g, g // 4) for g in range(8)]
    jobs += [(f"lost{i}", "v", "u", 8, 0, "Pass") for i in range(2)]
    attempts += [(f"lost{i}", 1, 20, 30) for i in range(2)]
    columns = ("job_id", "attempt", "machine_id", "gpu", "container")
    placements = frame("placements", columns, held)
    machines = {f"m{i}": 8 for i in range(4)}
    trace = make_trace(jobs, attempts, placements=placements, machines=machines)
    result = locality_relaxation.compute(trace)
    assert result.fact("spread_5_8_pct") == pytest.approx(100 / 3)
    assert 5 * 60 <= number(result, "median_wait_spread_5_8_s") <= 8 * 60
    assert "wider spread goes with shorter waits" in result.sentences[1]
    assert result.fact("attempts") == 60
    assert "2 attempts without placements excluded." in result.caveats
