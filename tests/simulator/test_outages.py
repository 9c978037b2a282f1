"""Check outages of machines and GPUs: known schedules, properties and rates."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.analyses import node_failures
from philly_analysis.errors import InputError, SimulationError
from philly_analysis.experiments import recorded_outages
from philly_analysis.results import number
from philly_analysis.simulator import POLICIES, run, simulate
from philly_analysis.simulator.engine.outages import Failures, Outage, outages_of
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.priority import Fifo
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.trace import Trace
from tests.simulator.drawn import assert_work_done, held, job, machines
from tests.simulator.test_properties import MACHINES, QUOTAS, Rows, specs_of, workloads
from tests.simulator.test_simulation import MACHINES as MACHINES_24
from tests.simulator.test_simulation import ORIGIN, workload
from tests.support.slow import quick_first

INF = float("inf")


@pytest.mark.parametrize("policy", quick_first([p for p in POLICIES.values() if not p.replays], 3))
@given(
    workloads,
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(1, 100), st.integers(0, 3), st.booleans()),
        max_size=6,
    ),
)
def test_work_is_done_all_the_same_and_never_on_what_is_out_of_use(
    policy: type[Policy], rows: Rows, told: list[tuple[int, int, int, bool]]
) -> None:
    specs = specs_of(rows)
    outages = [
        Outage(s, s + lasts_s, f"m{m}", 0 if one else None) for s, lasts_s, m, one in sorted(told)
    ]
    schedule = run(specs, MACHINES, policy(), quotas=QUOTAS, checkpoint_s=7, outages=outages)
    assert_work_done(schedule, specs)
    bars = list(held(schedule))
    for machine, gpu, start_s, end_s, _ in bars:
        for out in outages:
            if out.machine_id == machine and out.gpu in (None, gpu):
                assert end_s <= out.start_s or start_s >= out.end_s or start_s == end_s
    if not policy.guests:
        for one, next_ in pairwise(bars):
            assert one[:2] != next_[:2] or one[3] <= next_[2]
    # all that was got done on GPUs was kept or lost
    got_s = (pl.col("end_s") - pl.col("start_s")) * pl.col("speed")
    got = dict(schedule.speeds.group_by("job_id").agg(got_s.sum()).iter_rows())
    spent = schedule.attempts.group_by("job_id").agg(pl.col("work_s", "lost_s").sum())
    for job_id, kept_s, lost_s in spent.iter_rows():
        assert got.get(job_id, 0) == pytest.approx(kept_s + lost_s, abs=1e-3)


def test_what_is_out_of_use_for_good_is_not_waited_for() -> None:
    for policy in (p() for p in POLICIES.values() if not p.replays):
        with pytest.raises(SimulationError, match="permanent outages"):
            run([job("a", 50, 14, 1)], MACHINES, policy, outages=[Outage(5, INF, "m0")])


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([Outage(5, 5, "m0")], "does not end after"),
        ([Outage(5, 9, "m0"), Outage(4, 9, "m0")], "sorted by their start"),
        ([Outage(5, 9, "m0", 1)], "no machine or GPU"),
        ([Outage(5, 9, "elsewhere")], "no machine or GPU"),
    ],
)
def test_outages_that_make_no_sense_are_refused(told: list[Outage], why: str) -> None:
    with pytest.raises(SimulationError, match=why):
        run([job("a", 0, 1, 100)], machines(1), Fifo(), outages=told)


@pytest.mark.parametrize("text", ["machine", "disk:1:1", "machine:0:5", "gpu:5:inf", "gpu:x:5"])
def test_rates_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(SimulationError, match="give"):
        list(outages_of(text, machines(1), ORIGIN, np.random.default_rng(0)))


def test_failures_come_at_their_rates() -> None:
    """Of each part, up and down times have the means asked for, within 4 standard errors."""
    law = Failures(machine_s=1000, machine_repair_s=100, gpu_s=4000, gpu_repair_s=50)
    some = machines(4, 2, 2)
    last_up_s: dict[tuple[str, int | None], float] = {}
    up: dict[bool, list[float]] = {True: [], False: []}
    down: dict[bool, list[float]] = {True: [], False: []}
    before_s = 0.0
    for count, out in enumerate(law.drawn(some, np.random.default_rng(3))):
        if count == 40_000:
            break
        assert before_s <= out.start_s < out.end_s
        before_s, part, whole = out.start_s, (out.machine_id, out.gpu), out.gpu is None
        if whole:
            up[whole].append(out.start_s - last_up_s.get(part, 0.0))
        down[whole].append(out.end_s - out.start_s)
        assert out.start_s >= last_up_s.get(part, 0.0)
        last_up_s[part] = out.end_s
    for times, mean in ((up[True], 1000), (down[True], 100), (down[False], 50)):
        assert np.mean(times) == pytest.approx(mean, abs=4 * mean / len(times) ** 0.5)
    # a GPU can fail only while it and its machine are up
    gpus = sum(m.gpus for m in some)
    exposed_s = gpus * before_s * (1000 / 1100) * (1 - 50 / 4050)
    assert len(down[False]) == pytest.approx(exposed_s / 4000, rel=0.05)


@pytest.mark.slow
def test_outages_of_a_what_if_can_be_met_again(tmp_path: Path) -> None:
    load = workload(150)
    first = simulate(
        load, "fifo", tmp_path / "a", cluster=16, outages="machine:4e4:6e3,gpu:2e5:9e3"
    )
    again = simulate(load, "fifo", tmp_path / "b", cluster=16, outages=first / "outages.parquet")
    one, other = (pl.read_parquet(t / "attempts.parquet") for t in (first, again))
    assert one["end_reason"].equals(other["end_reason"])
    apart = (one["ended_at"] - other["ended_at"]).abs()
    assert (apart < timedelta(milliseconds=1)).all()  # times are written to the microsecond
    assert (one["end_reason"] == "node_failure").sum() > 3


def test_work_lost_to_outages_is_noted(tmp_path: Path) -> None:
    outages = "machine:1e4:6e3,gpu:8e4:6e3"
    out = simulate(
        workload(80), "fifo", tmp_path / "t", cluster=16, outages=outages, checkpoint_s=900
    )
    attempts = pl.read_parquet(out / "attempts.parquet")
    hit = attempts.filter(pl.col("end_reason") == "node_failure")
    assert hit["gpus"].n_unique() > 1
    lost_h = float((hit["lost_s"] * hit["gpus"]).sum()) / 3600
    [note] = [n for n in Manifest.read(out).notes if "(node_failure)" in n]
    of_gpus = pl.read_parquet(out / "outages.parquet")["gpu"].count()
    of_machines = pl.read_parquet(out / "outages.parquet").height - of_gpus
    assert of_machines > of_gpus > 1
    assert note.startswith(f"{of_machines} failures of machines and {of_gpus} of single GPUs ended")
    assert f"ended {hit.height} attempts" in note and lost_h > 0
    assert note.endswith(f"lost work of {number(lost_h)} GPU hours.")


def test_a_trace_without_server_failures_has_no_rate(tmp_path: Path) -> None:
    out = simulate(workload(30), "fifo", tmp_path / "t", cluster=16)
    with pytest.raises(InputError, match="records no server failure"):
        recorded_outages(out)


@pytest.mark.slow
def test_rates_measured_of_a_what_if_are_those_it_was_given(tmp_path: Path) -> None:
    out = simulate(
        workload(400), "fifo", tmp_path / "out", cluster=MACHINES_24, outages="machine:5e4:3e3"
    )
    with Trace(out) as trace:
        failures = node_failures.compute(trace)
    low_s, mean_s, high_s = (
        float(str(failures.fact(name))) for name in ("mttf_low_s", "mttf_s", "mttf_high_s")
    )
    assert low_s < 5e4 < high_s
    assert recorded_outages(out, 60) == Failures(machine_s=mean_s, machine_repair_s=60)
