"""Check that a what-if uses recorded data, and counts the values that it draws."""

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.errors import SimulationError
from philly_analysis.results.formatting import number, share
from philly_analysis.simulator import run, simulate
from philly_analysis.simulator.engine import execution
from philly_analysis.simulator.output.summary import first_waits
from philly_analysis.simulator.policies.priority import Srtf
from philly_analysis.simulator.speed.models import HostResources
from philly_analysis.simulator.speed.sharing import Sharing
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import JobSpec, Workload, fleet
from philly_analysis.workload.outcomes import measures
from philly_analysis.workload.recorded_details import with_gpu_use
from tests.simulator.drawn import job, machines
from tests.simulator.test_simulation import MACHINES, workload

SHARES = st.none() | st.floats(0, 1)
ELASTIC = ("amoeba", "synergy")


@given(
    st.lists(
        st.builds(
            replace,
            st.just(job("j", 0, 2, 10)),
            job_type=st.sampled_from([None, "res18", "a model of ours"]),
            cpus=st.none() | st.floats(0, 96),
            mem_gb=st.none() | st.floats(0, 900),
            util_frac=SHARES,
            gpu_mem_frac=SHARES,
        ),
        max_size=6,
    )
)
def test_what_a_job_says_stays_as_it_is(specs: list[JobSpec]) -> None:
    for speed, drawn in (
        (HostResources(), ("job_type",)),
        (Sharing(), ("util_frac", "gpu_mem_frac")),
    ):
        completed = speed.complete(specs, np.random.default_rng(1))
        for before, after in zip(specs, completed, strict=True):
            assert all(getattr(after, name) is not None for name in drawn)
            changed = {
                name: value
                for name in JobSpec.__dataclass_fields__
                if (value := getattr(before, name)) != getattr(after, name)
            }
            assert not any(value is not None for value in changed.values())


def test_gangs_request_the_cpus_and_memory_of_their_model_for_each_gpu() -> None:
    # AlexNet 12 CPUs and 125 GB a GPU, ResNet-18 9 and 62.5
    specs = [job("a", 0, 4, 10, job_type="alexnet"), job("r", 0, 2, 10, job_type="res18")]
    done = HostResources().complete(specs, np.random.default_rng(1))
    assert [(spec.cpus, spec.mem_gb) for spec in done] == [(48, 500), (18, 125)]


def test_recorded_cpus_and_memory_are_kept_without_a_job_type(tmp_path: Path) -> None:
    load = workload(60)
    some = pl.int_range(pl.len()) % 3 > 0
    asked = load.jobs.pl().with_columns(
        cpus=pl.when(some).then(2.0 * pl.col("gpus")), mem_gb=pl.when(some).then(30.0)
    )
    out = simulate(replace(load, jobs=asked), "synergy", tmp_path / "out", cluster=MACHINES)
    with Trace(out) as trace:
        said = trace.answer("jobs").pl().join(asked, on="job_id", suffix="_asked")
        notes = trace.manifest.notes
    stated = said.filter(pl.col("cpus_asked").is_not_null())
    assert stated.height == 40
    assert stated["cpus"].equals(stated["cpus_asked"].alias("cpus"))
    assert stated["mem_gb"].equals(stated["mem_gb_asked"].alias("mem_gb"))
    assert "Model: as recorded for 0 of 60 jobs, drawn for 60." in notes
    assert "CPUs: as recorded for 40 of 60 jobs, drawn for 20." in notes


class Steady:
    """Jobs equally busy in each minute, at drawn or known levels."""

    def __init__(self, known: dict[str, float] | None = None) -> None:
        self.known = known or {}

    def level(self, spec: JobSpec, servers: int, rng: np.random.Generator) -> float:
        return self.known.get(spec.job_id) or float(rng.uniform(10, 90))

    def minutes(
        self, level: float, minutes: int, gpus: int, rng: np.random.Generator
    ) -> npt.NDArray[np.float64]:
        return np.full((minutes, gpus), level)


@pytest.mark.parametrize(
    "policy", ["fifo", "antman", *(pytest.param(p, marks=pytest.mark.slow) for p in ELASTIC)]
)
def test_samples_agree_with_the_speeds_of_the_schedule(policy: str, tmp_path: Path) -> None:
    """The utilisation in all samples is the utilisation of the jobs, times their work."""
    load, servers = workload(120), fleet("3x8:24:500")
    busy_pct = {f"j{i}": (i % 9 + 1) / 0.3 for i in range(120)}
    afternoon = pl.duration(hours=13, minutes=37)
    jobs, runs = load.jobs.pl(), load.attempts.pl()
    out = simulate(
        replace(
            load,
            jobs=jobs.with_columns(pl.col("submitted_at") + afternoon, job_type=pl.lit("m5")),
            attempts=runs.with_columns(pl.col("started_at", "ended_at") + afternoon),
        ),
        policy,
        tmp_path / "out",
        cluster=servers,
        samples=Steady(busy_pct),
        speed=Sharing(util_quantiles=(0.3, 0.3)) if policy == "antman" else None,
    )
    with Trace(out) as trace:
        sampled = trace.answer("gpu_samples").pl()
        assert trace.manifest.rows["gpu_samples"] == sampled.height
        done_s = trace.sql(
            "select job_id, sum(work_s) * any_value(jobs.gpus) from attempts "
            "join jobs using (job_id) group by job_id"
        ).fetchall()
        [span] = trace.sql(
            "select date_trunc('minute', min(started_at)), "
            "date_trunc('minute', max(ended_at) - interval 1 microsecond) from attempts"
        ).fetchall()
    assert (sampled["sampled_at"].min(), sampled["sampled_at"].max()) == span
    if policy == "antman":
        busy_pct = dict.fromkeys(busy_pct, 30.0)
    seen_pct = sampled["util_pct"].list.sum().sum()
    assert seen_pct == pytest.approx(sum(busy_pct[j] * s for j, s in done_s) / 60, rel=2e-3)
    gpus = sampled.group_by("machine_id").agg(pl.col("util_pct").list.len().unique())["util_pct"]
    assert gpus.to_list() == [[8]] * len(servers)
    assert (sampled["sampled_at"].dt.truncate("1m") == sampled["sampled_at"]).all()


def test_utilisation_is_that_of_the_samples(tmp_path: Path) -> None:
    """A what-if of a sampled trace knows its jobs' utilisation, as a plain walk finds it."""
    out = simulate(workload(50), "fifo", tmp_path / "log", cluster=MACHINES, samples=Steady())
    with Trace(out) as trace:
        held = trace.sql(
            "select job_id, machine_id, gpu, started_at, ended_at from placements "
            "join attempts using (job_id, attempt)"
        ).fetchall()
        samples = trace.sql("select machine_id, sampled_at, util_pct from gpu_samples").fetchall()
    at = {(machine, moment): util for machine, moment, util in samples}
    busy: dict[tuple[str, int], list[tuple[object, object, str]]] = {}
    for job_id, machine, gpu, start, end in held:
        busy.setdefault((machine, gpu), []).append((start, end, job_id))
    # readings of whole minutes that one job alone held, away from its ends
    means: dict[str, list[float]] = {}
    for (machine, moment), util in at.items():
        for gpu, value in enumerate(util):
            for start, end, job_id in busy.get((machine, gpu), []):
                if start <= moment and (end - moment).total_seconds() >= 60:
                    means.setdefault(job_id, []).append(value)
    load = Workload.from_trace(out)
    use = {s.job_id: s.util_frac for s in with_gpu_use(load, load.specs())}
    assert all(use[j] is not None for j in means) and len(means) > 40
    long = {j: v for j, v in means.items() if len(v) > 120}
    for job_id, values in long.items():  # the first and last minute weigh little
        assert 100 * (use[job_id] or 0) == pytest.approx(np.mean(values), rel=0.03)
    again = simulate(load, "antman", tmp_path / "again", cluster=MACHINES)
    [said] = [n for n in Manifest.read(again).notes if n.startswith("GPU utilisation")] or [""]
    drawn = 50 - sum(u is not None for u in use.values())
    assert said == (
        f"GPU utilisation: as recorded for {50 - drawn} of 50 jobs, drawn for {drawn}."
        * bool(drawn)
    )


def test_costs_that_make_no_sense_are_refused() -> None:
    for wrong in (-1.0, float("nan")):
        with pytest.raises(SimulationError, match="give 0"):
            run([job("a", 0, 1, 1)], machines(1), Srtf(), checkpoint_s=wrong)


@pytest.mark.parametrize(
    ("stops_s", "refused"), [((10, 40, 51), True), ((10, 42, 53), False), ((10, 40), False)]
)
def test_a_job_that_never_gets_to_its_checkpoint_is_refused(
    stops_s: tuple[int, ...], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job a is stopped for 1 s; only its run of 31 s from 11 on gets to a checkpoint."""
    monkeypatch.setattr(execution, "MAX_SETBACKS", 2)
    jobs = [job("a", 0, 1, 200), *(job(f"b{s}", s, 1, 1) for s in stops_s)]
    with pytest.raises(SimulationError, match="2 times in a row") if refused else nullcontext():
        run(jobs, machines(1), Srtf(), checkpoint_s=30)


def test_a_wait_ends_with_the_first_start() -> None:
    """Job b preempts a for 5 s, c follows a; no recorded wait of b, one of d below zero."""
    jobs = [job("a", 0, 1, 100), job("b", 10, 1, 5), job("c", 20, 1, 200), job("d", 30, 1, 300)]
    schedule = run(jobs, machines(1), Srtf())
    recorded = pl.DataFrame({"job_id": ["a", "b", "c", "d"], "wait_s": [3.0, None, 0.0, -1.0]})
    waits = first_waits(recorded, schedule).sort("job_id").rows()
    assert waits == [("a", 1, 3.0, 0.0), ("c", 1, 0.0, 85.0)]


@pytest.mark.slow
def test_a_what_if_is_compared_with_the_recorded_waits(tmp_path: Path) -> None:
    """Its note says what a plain sum over both traces says; the log run again waits as the log."""
    log = simulate(workload(200), "fifo", tmp_path / "log", cluster=MACHINES)

    def waits_s(trace: Path) -> dict[str, float]:
        with Trace(trace) as opened:
            rows = opened.sql(
                "select job_id, epoch_us(min(started_at) - any_value(submitted_at)) / 1e6 "
                "from attempts join jobs using (job_id) group by job_id"
            ).fetchall()
        return dict(rows)

    recorded = waits_s(log)
    for policy in ("recorded", "srtf"):
        out = simulate(log, policy, tmp_path / policy, cluster=MACHINES)
        here = waits_s(out)
        both = sum(min(recorded[j], here[j]) for j in recorded) / sum(recorded.values())
        [said] = [n for n in Manifest.read(out).notes if n.startswith("First waits")]
        assert f"First waits of {len(recorded):,} jobs" in said
        assert f"Job by job, {share(both)} of the recorded waiting" in said
    assert waits_s(tmp_path / "recorded") == pytest.approx(recorded, abs=1e-5)


@pytest.mark.parametrize(
    "policy", ["srtf", *(pytest.param(p, marks=pytest.mark.slow) for p in ("antman", "las"))]
)
def test_lost_work_is_noted_and_not_part_of_the_jobs(policy: str, tmp_path: Path) -> None:
    load, knobs = workload(120), {"restart_s": 20}
    out = simulate(load, policy, tmp_path / "out", cluster=MACHINES, checkpoint_s=300, knobs=knobs)
    asked = {s.job_id: s.run_s for s in load.specs()}
    again = {s.job_id: s.run_s for s in Workload.from_trace(out).specs()}
    assert again == pytest.approx(asked, abs=1e-3)
    attempts = pl.read_parquet(out / "attempts.parquet")
    assert ((attempts["lost_s"] > 0) <= (attempts["end_reason"] == "preempted")).all()
    lost_h = float((attempts["lost_s"] * attempts["gpus"]).sum()) / 3600
    with Trace(out) as trace:
        [(still_h,)] = trace.sql(
            "select sum(epoch_us(s.ended_at - s.started_at) * gpus) / 3.6e9 from speeds s "
            "join attempts using (job_id, attempt) where speed = 0"
        ).fetchall()
        notes = " ".join(trace.manifest.notes)
    assert (lost_h > 0) == (policy != "antman")
    if lost_h:
        [said] = re.findall(r"([\d.]+) made no progress", notes)
        assert still_h > 0 and float(said) == pytest.approx(still_h, abs=0.005001)
        assert f"lost work of {number(lost_h)} GPU hours" in notes


def test_what_a_what_if_lost_is_compared(tmp_path: Path) -> None:
    load = replace(
        workload(150), virtual_clusters=pl.DataFrame({"vc": ["blue", "red"], "gpus": [18, 8]})
    )
    told = {}
    for policy in ("srtf", "philly"):
        out = simulate(load, policy, tmp_path / policy, cluster=MACHINES, checkpoint_s=600)
        with Trace(out) as trace:
            told[policy] = measures(trace)
    held = pl.read_parquet(tmp_path / "philly" / "holds.parquet")
    waiting_h = sum((held["ended_at"] - held["started_at"]).dt.total_microseconds()) / 3.6e9
    assert told["philly"]["waiting_gpu_h"] == pytest.approx(waiting_h) and waiting_h > 0
    assert "waiting_gpu_h" not in told["srtf"] and told["srtf"]["lost_gpu_h"] > 0
