"""Check placement costs: Table 4's cells, properties, and replayed recorded placements."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import ingest
from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.simulator import run, simulate
from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.recorded import Recorded
from philly_analysis.simulator.speed.models import SPEEDS, Locality
from philly_analysis.simulator.speed.recorded import recorded_allocation
from philly_analysis.study.utilisation import table_4
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import AttemptSpec, JobSpec, Machine, Stay, Workload, fleet
from tests.exports.tiny import workload_of
from tests.simulator.drawn import job, machines
from tests.simulator.test_simulation import MACHINES, workload
from tests.support.clusters import table_of
from tests.support.repository import SAMPLE


def placed(name: str, run_s: float, *shares: tuple[str, tuple[int, ...]]) -> JobSpec:
    """A job that ran from the beginning on such GPUs of such servers."""
    stay = Stay(0.0, run_s, tuple((m, len(gpus), gpus) for m, gpus in shares))
    return replace(
        job(name, 0, stay.gpus, run_s), attempts=(AttemptSpec(run_s, "completed", stay),)
    )


CELLS = {
    "SameServer": [placed("x", 100, ("m0", (0, 1)))],
    "DiffServer": [placed("x", 100, ("m0", (0,)), ("m1", (0,)))],
    "IntraServer": [placed("x", 100, ("m0", (0, 1))), placed("y", 1e4, ("m0", (2, 3)))],
    "InterServer": [
        placed("x", 100, ("m0", (0,)), ("m1", (0,))),
        placed("y", 1e4, ("m0", (1,)), ("m1", (1,))),
    ],
}


@pytest.mark.parametrize("cell", CELLS)
def test_the_four_cells_of_table_4(cell: str) -> None:
    schedule = run(CELLS[cell], machines(4, 4), Recorded(), speed=Locality())
    took_s = schedule.jobs.filter(job_id="x")["end_s"].item()
    images_per_s = table_4()
    assert 100 / took_s == pytest.approx(images_per_s[cell] / images_per_s["SameServer"], abs=1e-9)


def test_gpus_with_unknown_indices_are_the_first_of_their_server() -> None:
    stay = Stay(0.0, 1.0, (("m0", 2, ()), ("m1", 1, (3,))))
    allocation = recorded_allocation(stay, {"m0": 0, "m1": 1})
    assert allocation and allocation.shares == ((0, 0b11), (1, 0b1000))
    assert recorded_allocation(stay, {"m0": 0}) is None


@given(
    st.integers(2, 64).flatmap(
        lambda gpus: st.tuples(st.just(gpus), st.integers(-(-gpus // 8), gpus))
    )
)
def test_spread_is_never_better_than_packed_nor_company_than_none(pair: tuple[int, int]) -> None:
    gpus, servers = pair
    law, gang = Locality(), Job(job("x", 0, gpus, 1), 0)
    other, single = Job(job("y", 0, 2, 1), 1), Job(job("z", 0, 1, 1), 2)
    other.allocation, single.allocation = Allocation(((0, 3),), 2), Allocation(((0, 1),), 1)

    def at(n: int, *beside: Job) -> float:
        shares = tuple((m, 1) for m in range(n))  # how many on each does not matter
        return law.of(gang, Allocation(shares, gpus), beside)

    fewest = -(-gpus // 8)
    for beside in ((), (other,)):
        assert at(servers, *beside) <= at(fewest, *beside)
    assert at(servers, other) <= at(servers)
    assert at(servers, single) == at(servers)
    alone = replace(law, interference=False)
    assert alone.of(gang, Allocation(((0, 1),), gpus), (other,)) == at(1)


def asked(trace: Path, sql: str) -> pl.DataFrame:
    with Trace(trace) as opened:
        speeds: pl.DataFrame = opened.sql(sql).pl()
    return speeds


def furthest_us(one: pl.Series, other: pl.Series) -> int:
    """Most microseconds that two columns of times are apart."""
    return max(abs(int(us)) for us in (one - other).dt.total_microseconds())


def times(trace: Path) -> pl.DataFrame:
    """Starts, ends and GPUs of the attempts of a trace's workload whose place is known."""
    return asked(
        trace,
        "select r.job_id, r.started_at, r.until_at, "
        "list_sort(list((machine_id, gpu))) as held "
        "from attempt_runs r join workload_jobs j using (job_id) "
        "join placements p on p.job_id = r.job_id and p.attempt = r.attempt "
        "where left_out is null and r.run_s is not null and r.started_at is not null "
        "group by all order by all",
    )


def assert_given_back(trace: Path, out: Path, speed: str | None) -> None:
    simulate(trace, "recorded", out, speed=speed, force=True)
    before, after = times(trace), times(out)
    # what ran without a known place is a guest on the first GPUs
    after = after.join(
        before.select("job_id", "started_at"), on=["job_id", "started_at"], how="semi"
    )
    assert before.height > 50 and after.height == before.height
    assert before["job_id"].equals(after["job_id"]) and before["held"].equals(after["held"])
    for column in ("started_at", "until_at"):
        assert furthest_us(before[column], after[column]) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("speed", [None, "locality"])
def test_the_sample_is_given_back_by_its_own_placements(speed: str | None, tmp_path: Path) -> None:
    ingest("philly", SAMPLE, tmp_path / "log")
    assert_given_back(tmp_path / "log", tmp_path / "out", speed)


@pytest.mark.real_data
@pytest.mark.parametrize("speed", [None, "locality"])
def test_a_real_extract_is_given_back_by_its_own_placements(
    speed: str | None, traces: Path, tmp_path: Path
) -> None:
    ingest("philly-multigpu", traces / "philly-multigpu-jobs", tmp_path / "log")
    assert_given_back(tmp_path / "log", tmp_path / "out", speed)


@pytest.mark.parametrize("policy", ["srtf", pytest.param("las", marks=pytest.mark.slow)])
def test_a_what_if_is_given_back_by_its_own_placements(policy: str, tmp_path: Path) -> None:
    """Preemptions and what they cost, and speeds, are all in the trace."""

    def what_if(load: Workload | Path, by: str) -> Path:
        return simulate(
            load, by, tmp_path / by, cluster=MACHINES, speed="locality",
            checkpoint_s=120, knobs={"restart_s": 30},
        )  # fmt: skip

    out = what_if(workload(150), policy)
    one, two = (
        asked(trace, "select * from attempts order by all")
        for trace in (out, what_if(out, "recorded"))
    )
    assert one["lost_s"].sum() > 0 and (one["end_reason"] == "preempted").any()
    for column in ("job_id", "attempt", "gpus", "end_reason", "guest"):
        assert one[column].equals(two[column]), column
    for column in ("started_at", "ended_at"):
        assert furthest_us(one[column], two[column]) <= 1000


def test_a_recorded_spread_slows_a_job_once(tmp_path: Path) -> None:
    """A gang that took 117 s on two servers takes 100 s on one, whatever had no length."""
    took_s = round(100 * 114.8 / 98.0, 6)
    held = [("j0", 1, "m0", 0), ("j0", 1, "m1", 0), ("j1", 1, "m0", 1)]
    spread = replace(
        workload_of("two", [("j0", 2, 0, [(0, took_s)]), ("j1", 1, 0, [(0, 0)])]),
        machines=table_of("machines", {"m0": 2, "m1": 2}),
        placements=table_of("placements", held),
    )
    for policy, seconds in (("recorded", took_s), ("fifo", 100.0)):
        out = simulate(spread, policy, tmp_path / policy, speed="locality")
        with Trace(out) as trace:
            ran = trace.answer("attempts").pl().filter(pl.col("job_id") == "j0")
            assert any("divided out" in note for note in trace.manifest.notes)
        ran_s = (ran["ended_at"] - ran["started_at"]).dt.total_microseconds() / 1e6
        assert ran_s.to_list() == pytest.approx([seconds], abs=1e-4)


def test_recorded_placements_need_their_machines(tmp_path: Path) -> None:
    out = simulate(workload(20), "fifo", tmp_path / "one", cluster=MACHINES)
    with pytest.raises(SimulationError, match="on the trace's own machines"):
        simulate(out, "recorded", tmp_path / "two", cluster=[Machine("other", 24)])


def test_every_speed_says_what_it_is() -> None:
    assert all(law().note for law in SPEEDS.values())
    with pytest.raises(UnknownNameError, match="no speed named 'local'"):
        simulate(workload(5), "fifo", "nowhere", cluster=fleet("3x8"), speed="local")
