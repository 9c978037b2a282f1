"""The experiments on small sweeps, against sums that one can do without a simulator."""

import heapq
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest

from philly_analysis.errors import WorkloadError
from philly_analysis.experiments import EXPERIMENTS, amoeba, antman, synergy
from philly_analysis.experiments.workloads import law_of, one_gpu_each
from philly_analysis.simulator import fleet, run
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.profiles import PROFILES
from philly_analysis.simulator.speed import HostResources
from philly_analysis.workload import JobSpec, Workload
from philly_analysis.workload.load import at_load, load_of

from .drawn import job
from .literature import literature


def queue_jct_h(
    specs: Sequence[JobSpec],
    speed_of: Callable[[JobSpec], float],
    servers: int,
    window: tuple[int, int],
) -> float:
    """Mean completion time in a queue of so many servers (Kiefer and Wolfowitz' recursion)."""
    free_at_s = [0.0] * servers
    jct_s = []
    for s in specs:
        start_s = max(s.submit_s, heapq.heappop(free_at_s))
        heapq.heappush(free_at_s, start_s + s.run_s / speed_of(s))
        jct_s.append(start_s + s.run_s / speed_of(s) - s.submit_s)
    return float(np.mean(jct_s[slice(*window)])) / 3600


def fluid_jct_h(
    specs: Sequence[JobSpec], speed_of: Callable[[JobSpec], float], servers: int, first: int
) -> float:
    """Mean service, and what the work that came before job `first` exceeds the drain by."""
    service_s = np.array([s.run_s / speed_of(s) for s in specs])
    backlog_s = service_s[:first].sum() / servers - specs[first].submit_s
    return float(service_s.mean() + max(backlog_s, 0)) / 3600


@pytest.mark.parametrize("load", [0.6, 1.2])
def test_synergy_is_a_queue_whose_servers_are_faster(load: float) -> None:
    """The published ratio is a ratio of backlogs: a queue without CPUs and memory shows it."""
    jobs = synergy.typed(one_gpu_each(literature(3000, 128, 3)), (20, 70, 10), seed=3)
    specs, window = at_load(jobs, load, 128), (2000, 2500)
    speed = {m: p.throughput(p.cpus, p.mem_gb) for m, p in PROFILES.items()}
    jct_h, fluid_h = {}, {}
    for allocation, of, within in (
        ("proportional", lambda s: 1.0, 1.0),
        ("tune", lambda s: speed[s.job_type], 1.15),
    ):
        schedule = run(
            specs, fleet("16x8:24:500"), Synergy(allocation=allocation), speed=HostResources()
        )
        jct_h[allocation] = schedule.jct_s[slice(*window)].mean() / 3600
        fluid_h[allocation] = fluid_jct_h(specs, of, 128, sum(window) // 2)
        least = queue_jct_h(specs, of, 128, window)  # every job with all it wants
        assert least * (1 - 1e-9) <= jct_h[allocation] <= least * (within + 1e-9)
    ratio = jct_h["proportional"] / jct_h["tune"]
    assert ratio == pytest.approx(fluid_h["proportional"] / fluid_h["tune"], rel=0.35)
    assert (1.02 < ratio < 1.25) if load < 1 else (ratio > 1.6)


def test_synergy_sweep_and_its_ratios() -> None:
    sweep = synergy.Sweep(
        loads=(0.6, 1.2),
        orders=("fifo", "srtf"),
        splits=((20, 70, 10), (0, 100, 0)),
        servers=(4,),
        jobs=500,
        window=(250, 400),
        seeds=(1,),
    )
    result = synergy.compute(literature, "literature", sweep)
    over = synergy.ratios(result.table)
    assert set(over["gangs"]) == {"one", "own"} and len(over) == 2 * 4
    language = over[over["split"] == "0/100/0"]["ratio"]
    assert language.to_numpy() == pytest.approx(1.0)  # nothing to gain for language models
    assert (over[(over["split"] == "20/70/10")]["ratio"] > 1).all()
    assert result.comparisons[0].published == 3.4
    assert len(synergy.plot(result).axes) == 3


def test_amoeba_sweep_gains_nothing_where_nothing_can_change() -> None:
    sweep = amoeba.Sweep(
        loads=(0.4, 0.9),
        scale_outs=(2.0, 1.0),
        alphas=(0.9,),
        orders=("las",),
        jobs=120,
        seeds=(1,),
        stop_resume_s=(600.0,),
    )
    result = amoeba.compute(literature, "literature", sweep)
    over = amoeba.reductions(result.table).set_index(["load", "scale_out", "resize_s"])
    gain_pct, lost_pct = over["reduction_pct"].to_dict(), over["lost_pct"].to_dict()
    # at low load nobody waits, so without growth nothing differs; with twice the GPUs a job takes
    # 1 / 2^0.9 of its time, less where the cluster is full
    assert gain_pct[0.4, 1.0, 30.0] == pytest.approx(0, abs=1)
    ideal = 100 * (1 - 2**-0.9)
    assert 0.7 * ideal < gain_pct[0.4, 2.0, 30.0] < ideal
    assert lost_pct[0.9, 2.0, 600.0] > 5 * lost_pct[0.9, 2.0, 600.0 * 0.05]
    assert len(amoeba.plot(result).axes) == 3


def test_antman_sweep_fills_the_cluster_and_slows_no_holder() -> None:
    sweep = antman.Sweep(loads=(0.3, 1.2), utilisations=("Beta, mean 0.35",), jobs=500, seeds=(1,))
    result = antman.compute(literature, "literature", sweep)
    assert result.fact("slowest_holder_speed") == 1.0
    table = result.table.set_index(["load", "sharing"])
    busy_pct = table["compute_pct"].to_dict()
    assert busy_pct[1.2, True] > 1.15 * busy_pct[1.2, False]
    assert table["guests_pct"].to_dict()[1.2, False] == 0
    # without guests compute use is GPUs in use times the mean utilisation of their jobs
    assert 0.2 * 30 < busy_pct[0.3, False] < 0.5 * 40
    assert len(antman.plot(result).axes) == 3


def test_utilisation_laws_have_the_means_they_name() -> None:
    for mean in (0.35, 0.5, 0.7):
        drawn = np.interp(
            np.linspace(0, 1, 10_001), np.linspace(0, 1, 11), antman.beta_quantiles(mean)
        )
        assert drawn.mean() == pytest.approx(mean, abs=0.01)


def test_at_load_stretches_time_only() -> None:
    specs = [job("a", 10, 2, 100), job("b", 60, 4, 50), job("c", 110, 1, 200)]
    assert load_of(specs, 8) == (200 + 200 + 200) / 100 / 8
    stretched = at_load(specs, 0.5, 8)
    assert [s.submit_s for s in stretched] == [0, 75, 150]
    assert load_of(stretched, 8) == 0.5
    with pytest.raises(WorkloadError, match="no load"):
        at_load(specs[:1], 0.5, 8)


def test_the_law_of_a_model_draws_near_full_load() -> None:
    asked = []

    def sample(*, jobs: int, gpus: int, seed: int, load: float = 1.0) -> Workload:
        asked.append(load)
        specs = literature(jobs, gpus, seed)
        start = pl.datetime(2026, 1, 5)
        frame = (
            pl.DataFrame(
                [(s.job_id, s.gpus, round(1000 * s.submit_s / load), s.run_s) for s in specs],
                schema=["job_id", "gpus", "ms", "run_s"],
                orient="row",
            )
            .with_columns(
                submitted_at=start + pl.duration(milliseconds="ms"),
                attempt=1,
                vc=pl.lit(None, pl.String),
                user=pl.lit(None, pl.String),
                status=pl.lit("Pass"),
            )
            .with_columns(
                started_at="submitted_at",
                ended_at=pl.col("submitted_at") + pl.duration(seconds="run_s"),
            )
        )
        return Workload(
            name="m",
            jobs=frame.select("job_id", "vc", "user", "gpus", "submitted_at", "status"),
            attempts=frame.select("job_id", "attempt", "started_at", "ended_at"),
        )

    drawn = law_of(sample)(500, 64, 1)
    assert asked[0] == 1.0 and asked[1] != 1.0
    assert load_of(drawn, 64) == pytest.approx(1, rel=0.01)


def test_every_experiment_says_what_it_leaves_out() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert any("Not modelled" in line for line in experiment.MODELLED), name
