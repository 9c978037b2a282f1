"""What is believed of run times: on paper, beside slow references, and as drawn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import POLICIES, Policy, policy_named, run, simulate
from philly_analysis.simulator.jobs.estimates import Estimates, estimates_of
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import JobSpec
from tests.simulator import reference as slow
from tests.simulator.drawn import done, ended_in_time, gantt, job, machines
from tests.simulator.test_laws import MACHINES as SERVERS
from tests.simulator.test_laws import QUOTAS, Rows
from tests.simulator.test_laws import workloads as law_workloads
from tests.simulator.test_simulation import MACHINES, workload


def believing(spec: JobSpec, *believed_s: float) -> JobSpec:
    runs = zip(spec.attempts, believed_s, strict=True)
    return replace(spec, attempts=tuple(replace(a, believed_s=float(b)) for a, b in runs))


def off_s(walker: slow.Walker) -> list[float]:
    """How far off the belief is, of the present run and those after it."""
    to_come = walker.spec.attempts[-len(walker.runs_s) :]
    return [(a.believed_s or 0.0) - a.run_s for a in to_come]


def believed_s(walker: slow.Walker) -> float:
    """What the present run is believed to need still."""
    return max(0.0, walker.runs_s[0] + off_s(walker)[0])


def all_believed_s(walker: slow.Walker) -> float:
    return max(0.0, sum(walker.runs_s) + sum(off_s(walker)))


class Easy(slow.Policy):
    """Backfilling by what is believed, looked at anew at each event."""

    def serve(self, walk: slow.Walk) -> list[slow.Walker]:
        chosen, free = walk.running, walk.free
        queue = sorted(walk.waiting, key=slow.submitted)
        while queue and queue[0].gpus <= free:
            chosen.append(queue.pop(0))
            free -= chosen[-1].gpus
        if not queue:
            return chosen
        starts_s, spare, ends = walk.now_s, free, []
        for walker in chosen:
            so_far_s = walk.now_s - walker.started_s if walker.running else 0.0
            end_s = walk.now_s - so_far_s + walker.runs_s[0] + so_far_s + off_s(walker)[0]
            ends.append((end_s, walker.nth, walker.gpus))
        for end_s, _, gpus in sorted(ends):
            if spare >= queue[0].gpus and end_s > starts_s:
                break
            spare, starts_s = spare + gpus, max(end_s, walk.now_s)
        spare -= queue[0].gpus
        for walker in queue[1:]:
            in_time = walk.now_s + believed_s(walker) <= starts_s + 1e-6
            if walker.gpus <= free and (in_time or walker.gpus <= spare):
                chosen.append(walker)
                free -= walker.gpus
                spare -= 0 if in_time else walker.gpus
        return chosen


REFERENCES = {
    "sjf": lambda: slow.InTurn(slow.shortest),
    "srtf": slow.ShortestRemaining,
    "easy": Easy,
}


@pytest.mark.parametrize("name", REFERENCES)
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
    assume(all(how != "migrated" for bars in ours.values() for *_, how in bars))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slow.Walker, "remaining_s", property(all_believed_s))
        theirs = slow.walk_through(specs, 11, REFERENCES[name]())
    assert ours == {
        name: [(round(a, 3), round(b, 3), how) for a, b, how in bars]
        for name, bars in theirs.items()
    }


@pytest.mark.parametrize("policy", [p for p in POLICIES.values() if not p.replays])
@given(law_workloads, st.integers(0, 9))
def test_whatever_is_believed_every_job_is_done(
    policy: type[Policy], rows: Rows, seed: int
) -> None:
    specs = [job(f"j{i:02d}", s, g, *runs, vc=vc) for i, (s, g, runs, vc) in enumerate(rows)]
    told = Estimates(sigma=3).told(specs, np.random.default_rng(seed))
    schedule = run(told, SERVERS, policy(), quotas=QUOTAS)
    assert ended_in_time(schedule)
    kept = dict(schedule.attempts.group_by("job_id").agg(pl.col("work_s").sum()).iter_rows())
    assert kept == pytest.approx({s.job_id: s.run_s for s in specs}, abs=1e-3)


def test_the_shortest_is_the_one_believed_to_be() -> None:
    jobs = [
        job("a", 0, 1, 10),
        believing(job("b", 1, 1, 5), 50),
        believing(job("c", 2, 1, 20), 1),
    ]
    bars = gantt(run(jobs, machines(1), policy_named("sjf", {})))
    assert bars == {"a": done(0, 10), "c": done(10, 30), "b": done(30, 35)}


def test_a_run_longer_than_believed_ends_at_any_moment() -> None:
    # b is believed to need 5 s, a 4 s: at 4 it might end any moment, and goes on to its end at 30
    jobs = [believing(job("a", 0, 1, 30), 4), believing(job("b", 10, 1, 5), 5)]
    bars = gantt(run(jobs, machines(1), policy_named("srtf", {})))
    assert bars == {"a": done(0, 30), "b": done(30, 35)}


def test_noise_is_lognormal_and_the_limits_asked_for_are_believed() -> None:
    specs = [job(f"j{i}", i, 1, 100, 50) for i in range(4_000)]
    told = Estimates(sigma=0.5).told(specs, np.random.default_rng(1))
    off = np.log([(a.believed_s or 0) / a.run_s for spec in told for a in spec.attempts])
    assert off.mean() == pytest.approx(0, abs=4 * 0.5 / len(off) ** 0.5)
    assert off.std() == pytest.approx(0.5, rel=0.05)
    assert [a.end_reason for a in told[0].attempts] == ["failed", "completed"]
    asked = [replace(job("a", 0, 1, 100), time_limit_s=600.0), job("b", 0, 1, 7)]
    requested = Estimates(requested=True).told(asked, np.random.default_rng(1))
    assert [spec.attempts[0].believed_s for spec in requested] == [600, None]
    assert "1 job of 2 did" in Estimates(requested=True).says(asked)[0]


@pytest.mark.parametrize("text", ["noisy", "noisy:-1", "noisy:nan", "exact:1", "guess", "noisy:x"])
def test_estimates_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(SimulationError, match="give"):
        estimates_of(text)


@pytest.mark.slow
def test_what_is_believed_changes_a_what_if_only_where_somebody_looks(tmp_path: Path) -> None:
    def ends(policy: str, estimates: str) -> pl.Series:
        out = simulate(
            workload(120), policy, tmp_path / f"{policy}{estimates}", machines=MACHINES,
            estimates=estimates,
        )  # fmt: skip
        with Trace(out) as trace:
            assert ("believed" in " ".join(trace.manifest.notes)) == (estimates != "exact")
        return pl.read_parquet(out / "attempts.parquet")["ended_at"]

    assert ends("fifo", "exact").equals(ends("fifo", "noisy:2"))
    assert not ends("sjf", "exact").equals(ends("sjf", "noisy:2"))
