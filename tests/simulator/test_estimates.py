"""Check run-time estimates: known schedules, slow references and drawn errors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import POLICIES, Policy, policy_named, run, simulate
from philly_analysis.trace.manifest import Manifest
from philly_analysis.workload import Estimates, JobSpec, estimates_of
from tests.simulator import reference as slow
from tests.simulator.drawn import (
    assert_same_bars,
    assert_work_done,
    done,
    gantt,
    job,
    machines,
    migrates,
)
from tests.simulator.test_properties import MACHINES as SERVERS
from tests.simulator.test_properties import QUOTAS, Rows, specs_of
from tests.simulator.test_properties import workloads as any_workloads
from tests.simulator.test_simulation import MACHINES, workload
from tests.support.slow import quick_first


def believing(spec: JobSpec, *believed_s: float) -> JobSpec:
    runs = zip(spec.attempts, believed_s, strict=True)
    return replace(spec, attempts=tuple(replace(a, believed_s=float(b)) for a, b in runs))


class BelievingJob(slow.RefJob):
    """A job whose remaining time is estimated."""

    @property
    def errors_s(self) -> list[float]:
        """Error of the estimate of the present run and of later runs."""
        to_come = self.spec.attempts[-len(self.runs_s) :]
        return [(a.believed_s or 0.0) - a.run_s for a in to_come]

    @property
    def remaining_s(self) -> float:
        return max(0.0, sum(self.runs_s) + sum(self.errors_s))


class Easy(slow.EasyBackfill):
    """Backfilling by estimates of any error."""

    def takes_s(self, job: slow.RefJob, so_far_s: float = 0.0) -> float:
        assert isinstance(job, BelievingJob)
        return so_far_s + job.runs_s[0] + job.errors_s[0]


REFERENCES = {
    "sjf": lambda: slow.InTurn(slow.shortest),
    "srtf": slow.ShortestRemaining,
    "easy": Easy,
}


@pytest.mark.parametrize("name", quick_first(REFERENCES, 2))
@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 100),
            st.sampled_from([1, 1, 2, 4, 8]),
            st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=2),
        ),
        min_size=1,
        max_size=14,
    )
)
@example([(1, 2, [(24, 0), (18, 42)]), (17, 2, [(11, 30)]), (21, 8, [(1, 1)])])
def test_policies_go_by_what_is_believed(
    name: str, rows: list[tuple[int, int, list[tuple[int, int]]]]
) -> None:
    specs = [
        believing(job(f"j{i:02d}", s, g, *(r for r, _ in runs)), *(b for _, b in runs))
        for i, (s, g, runs) in enumerate(rows)
    ]
    ours = gantt(run(specs, machines(8, 3), policy_named(name, {})))
    assume(not migrates(ours))
    world = slow.World(machines(11), make=BelievingJob)
    assert_same_bars(ours, slow.simulate(specs, world, REFERENCES[name]()))


@pytest.mark.parametrize("policy", quick_first([p for p in POLICIES.values() if not p.replays], 3))
@given(any_workloads, st.integers(0, 9))
def test_whatever_is_believed_every_job_is_done(
    policy: type[Policy], rows: Rows, seed: int
) -> None:
    specs = specs_of(rows)
    told = Estimates(sigma=3).apply(specs, np.random.default_rng(seed))
    schedule = run(told, SERVERS, policy(), quotas=QUOTAS)
    assert_work_done(schedule, specs)


def test_the_shortest_is_the_one_believed_to_be() -> None:
    jobs = [job("a", 0, 1, 10), believing(job("b", 1, 1, 5), 50), believing(job("c", 2, 1, 20), 1)]
    bars = gantt(run(jobs, machines(1), policy_named("sjf", {})))
    assert bars == {"a": done(0, 10), "c": done(10, 30), "b": done(30, 35)}


def test_a_run_longer_than_believed_ends_at_any_moment() -> None:
    # b is believed to need 5 s, a 4 s: at 4 it might end any moment, and goes on to its end at 30
    jobs = [believing(job("a", 0, 1, 30), 4), believing(job("b", 10, 1, 5), 5)]
    bars = gantt(run(jobs, machines(1), policy_named("srtf", {})))
    assert bars == {"a": done(0, 30), "b": done(30, 35)}


def test_noise_is_lognormal_and_the_limits_asked_for_are_believed() -> None:
    specs = [job(f"j{i}", i, 1, 100, 50) for i in range(4_000)]
    told = Estimates(sigma=0.5).apply(specs, np.random.default_rng(1))
    off = np.log([(a.believed_s or 0) / a.run_s for spec in told for a in spec.attempts])
    assert off.mean() == pytest.approx(0, abs=4 * 0.5 / len(off) ** 0.5)
    assert off.std() == pytest.approx(0.5, rel=0.05)
    assert [a.end_reason for a in told[0].attempts] == ["failed", "completed"]
    asked = [replace(job("a", 0, 1, 100), time_limit_s=600.0), job("b", 0, 1, 7), job("c", 0, 1, 7)]
    requested = Estimates(requested=True).apply(asked, np.random.default_rng(1))
    assert [spec.attempts[0].believed_s for spec in requested] == [600, None, None]
    assert "1 job of 3" in Estimates(requested=True).notes(asked)[0]


@pytest.mark.parametrize("text", ["noisy", "noisy:-1", "noisy:nan", "exact:1", "guess", "noisy:x"])
def test_estimates_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(SimulationError, match="give"):
        estimates_of(text)


@pytest.mark.slow
def test_what_is_believed_changes_a_what_if_only_where_somebody_looks(tmp_path: Path) -> None:
    def ends(policy: str, estimates: str) -> pl.Series:
        out = simulate(
            workload(120).with_estimates(estimates), policy, tmp_path / f"{policy}{estimates}",
            cluster=MACHINES,
        )  # fmt: skip
        assert ("believed" in " ".join(Manifest.read(out).notes)) == (estimates != "exact")
        return pl.read_parquet(out / "attempts.parquet")["ended_at"]

    assert ends("fifo", "exact").equals(ends("fifo", "noisy:2"))
    assert not ends("sjf", "exact").equals(ends("sjf", "noisy:2"))
