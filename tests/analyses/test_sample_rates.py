"""Check samples of any rate against one per minute, and uneven ones against a reference."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from philly_analysis.errors import TraceError
from philly_analysis.exports.formats import opendc
from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, trace_of, write_tables
from tests.analyses.samples import (
    MINUTE,
    Tables,
    by_attempt,
    floor,
    gpu_frame,
    mem_pct,
    resampled,
    sampled_cluster,
)
from tests.support.small_traces import at

RATES = (7.5, 15.0, 30.0, 60.0, 300.0)
ANSWERS = (
    "gpu_use",
    "gpu_use_bins",
    "attempt_use",
    "gpu_util_bins",
    "gpu_use_gaps",
    "sampled_attempts",
    "gpu_util",
    "gpu_util_by_servers",
    "gpu_util_dedicated",
    "locality_effect",
    "model_use",
    "gpu_sample_hours",
    "host_sample_hours",
    "host_use_bins",
    "host_util_bins",
    "host_util",
    "notebook_gpu_util",
    "notebook_gpu_util_bins",
    "occupancy",
    "overview",
)

BARE = {"gpu_util_dedicated", "notebook_gpu_util", "notebook_gpu_util_bins"}
"""Answers that the random cluster may have no rows for."""


def steady(seed: int) -> Tables:
    """The random cluster, its samples the same through each five minutes, or missing in all."""
    tables = sampled_cluster(seed)
    fifth = timedelta(minutes=5)
    for name in ("gpu_samples", "host_samples"):
        kept = (
            tables[name]
            .with_columns(pl.col("sampled_at").dt.truncate(fifth))
            .unique(["sampled_at", "machine_id"], keep="first", maintain_order=True)
        )
        # a fifth of them go: what sampled_cluster leaves out is only single minutes
        kept = kept.filter(pl.int_range(pl.len()) % 5 != 0)
        minutes = pl.DataFrame({"m": [i * MINUTE for i in range(5)]})
        tables[name] = (
            kept.join(minutes, how="cross")
            .with_columns(pl.col("sampled_at") + pl.col("m"))
            .drop("m")
        )
    return tables


@pytest.fixture(scope="module")
def per_minute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tables, Trace]]:
    tables = steady(5)
    with Trace(write_tables(tmp_path_factory.mktemp("rates") / "t", tables)) as trace:
        yield tables, trace


@pytest.mark.parametrize(
    "seconds",
    [300.0, *(pytest.param(s, marks=pytest.mark.slow) for s in RATES if s < 300)],
)
def test_every_answer_is_that_of_one_sample_a_minute(
    seconds: float, per_minute: tuple[Tables, Trace], tmp_path: Path
) -> None:
    tables, trace = per_minute
    questions = {name: f"from {name}" for name in ANSWERS} | {"opendc": opendc.UTILISATION}
    with Trace(write_tables(tmp_path / "t", resampled(tables, seconds))) as other:
        for name, question in questions.items():
            one, same = (t.sql(question).pl() for t in (trace, other))
            assert one.height > 0 or name in BARE, name
            equal(same, one, name)


def equal(found: pl.DataFrame, expected: pl.DataFrame, name: str) -> None:
    """The same rows: texts and whole numbers exactly, others but for the order of their sum."""
    assert found.schema == expected.schema, name
    exact = [c for c, t in expected.schema.items() if t not in (pl.Float64, pl.Float32)]
    # where only fractions tell rows apart, their last digits must not decide on the order
    rounded = [
        pl.col(c).round_sig_figs(9).alias(f"_{c}") for c in expected.columns if c not in exact
    ]
    one, same = (
        f.with_columns(rounded)
        .sort(*exact, *(f"_{c}" for c in f.columns if c not in exact), nulls_last=True)
        .select(expected.columns)
        for f in (expected, found)
    )
    assert same.select(exact).equals(one.select(exact), null_equal=True), name
    for column in (c for c in one.columns if c not in exact):
        a, b = (f[column].fill_null(-1).to_numpy() for f in (same, one))
        assert np.allclose(a, b, rtol=1e-12, atol=1e-9), (name, column)


@pytest.mark.slow
def test_hours_are_hours_at_any_rate(tmp_path: Path) -> None:
    # 320 GPU hours: eight GPUs for forty hours, half of them idle
    for seconds in RATES:
        util = [50.0] * 4 + [0.0] * 4
        moments = np.arange(0, 40 * 60, seconds / 60)
        path = trace_of(
            tmp_path / f"{seconds}",
            [("j", "v", "u", 8, 0, "Pass")],
            [("j", 1, 0, 40 * 60)],
            machines=frame("machines", ("machine_id", "gpus"), [("m", 8)]),
            placements=frame(
                "placements",
                ("job_id", "attempt", "machine_id", "gpu"),
                [("j", 1, "m", g) for g in range(8)],
            ),
            gpu_samples=gpu_frame([(at(float(m)), "m", util) for m in moments]).with_columns(
                seconds=pl.lit(seconds)
            ),
        )
        with Trace(path) as trace:
            found = trace.sql("select minutes, idle_min, coverage from attempt_use").fetchall()
        assert found == [(320 * 60, 160 * 60, 1.0)]


Reading = tuple[datetime, datetime, Any]


def uneven(seed: int) -> Tables:
    """The random cluster, sampled at any moment for any time up to an hour, with pauses."""
    rng = np.random.default_rng(seed)
    tables = sampled_cluster(seed)
    known = tables["attempts"].drop_nulls(["started_at", "ended_at"])
    begin, end = known["started_at"].min(), known["ended_at"].max()
    assert isinstance(begin, datetime) and isinstance(end, datetime)
    gpu, host = [], []
    for machine, gpus in tables["machines"].iter_rows():
        moment = begin - timedelta(hours=3)
        while moment < end + timedelta(hours=3):
            seconds = round(float(rng.choice([0.5, 7.5, 60, 431.7, 3600]) * rng.uniform(0.2, 1)), 3)
            util = [None if u > 90 else max(0.0, u - 20) for u in 100 * rng.random(gpus)]
            gpu.append((moment, machine, util, seconds))
            cpu = None if rng.random() < 0.1 else float(rng.random() * 100)
            mem = None if rng.random() < 0.1 else float(rng.random() * 64)
            host.append((moment, machine, cpu, mem, 64.0, seconds))
            moment += timedelta(seconds=seconds)
            if rng.random() < 0.2:
                moment += timedelta(seconds=float(rng.integers(1, 4_000)))
    tables["gpu_samples"] = pl.DataFrame(
        gpu, schema=["sampled_at", "machine_id", "util_pct", "seconds"], orient="row"
    )
    tables["host_samples"] = pl.DataFrame(
        host,
        schema=["sampled_at", "machine_id", "cpu_pct", "mem_used_gb", "mem_gb", "seconds"],
        orient="row",
    )
    return tables


def readings(samples: pl.DataFrame) -> Mapping[str, list[Reading]]:
    """Readings by machine: from when to when, and the row."""
    found = defaultdict(list)
    for r in samples.iter_rows(named=True):
        until = r["sampled_at"] + timedelta(seconds=r["seconds"])
        found[r["machine_id"]].append((r["sampled_at"], until, r))
    return found


def whole_minutes(a: Mapping[str, Any]) -> tuple[datetime, datetime]:
    end = floor(a["ended_at"])
    return floor(a["started_at"]), end if end == a["ended_at"] else end + MINUTE


@pytest.fixture(scope="module", params=[1, 2])
def odd(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Tables, Trace]]:
    tables = uneven(request.param)
    with Trace(write_tables(tmp_path_factory.mktemp("odd") / "t", tables)) as trace:
        yield tables, trace


def test_uneven_readings_of_gpus_are_those_of_a_walk(odd: tuple[Tables, Trace]) -> None:
    tables, trace = odd
    seen = readings(tables["gpu_samples"])
    expected: dict[tuple[Any, ...], list[float]] = {}
    for (job, attempt), a in by_attempt(tables).items():
        begin, end = whole_minutes(a)
        for machine, gpu in a["held"]:
            total = expected[job, attempt, machine, gpu] = [0.0] * 4
            for since, until, row in seen[machine]:
                part = (min(until, end) - max(since, begin)) / MINUTE
                if part <= 0 or gpu >= len(row["util_pct"]):
                    continue
                u = row["util_pct"][gpu]
                if u is None:
                    total[1] += part
                else:
                    total[0] += part
                    total[2] += part * (u == 0)
                    total[3] += part * u
    rows = trace.sql(
        "select job_id, attempt, machine_id, gpu, minutes, offline_min, idle_min, sum_pct "
        "from gpu_use"
    ).fetchall()
    assert {r[:4] for r in rows} == set(expected)
    for r in rows:
        assert r[4:] == pytest.approx(expected[r[:4]], rel=1e-9, abs=1e-9)
    assert (
        0.3
        < sum(r[4] for r in rows)
        / trace.sql("select sum(expected_min) from gpu_use").fetchall()[0][0]
        < 1
    )


def test_uneven_readings_of_servers_are_those_of_a_walk(odd: tuple[Tables, Trace]) -> None:
    tables, trace = odd
    holders = defaultdict(set)
    for a in by_attempt(tables).values():
        for machine in {m for m, _ in a["held"]}:
            holders[machine].add((*whole_minutes(a), a["job_id"], a["attempt"]))
    expected: dict[tuple[Any, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for machine, seen in readings(tables["host_samples"]).items():
        for since, until, row in seen:
            near = [h for h in holders[machine] if h[0] < until and h[1] > since]
            cuts = sorted({since, until, *(t for h in near for t in h[:2] if since < t < until)})
            cpu, mem = row["cpu_pct"], mem_pct(row)
            for left, right in itertools.pairwise(cuts):
                jobs = min(2, sum(h[0] <= left and h[1] >= right for h in near))
                part = (right - left) / MINUTE
                for resource, pct in (("cpu", cpu), ("mem", mem)):
                    key = (jobs, resource, None if pct is None else ceil(pct))
                    expected[key][0] += part
                    expected[key][1] += part * (pct or 0)
    rows = trace.sql(
        "select attempts, resource, bin, sum(minutes), coalesce(sum(sum_pct), 0) "
        "from host_util_bins group by all"
    ).fetchall()
    assert {r[:3] for r in rows} == set(expected)
    assert {r[0] for r in rows} == {0, 1, 2}
    for r in rows:
        assert r[3:] == pytest.approx(expected[r[:3]], rel=1e-9, abs=1e-9)
    told = trace.sql("select sum(minutes) / 2 from host_util_bins").fetchall()[0][0]
    assert told == pytest.approx(tables["host_samples"]["seconds"].sum() / 60, rel=1e-9)


@pytest.mark.parametrize("seconds", [0.0, -15.0, 3_601.0])
def test_a_sample_lasts_up_to_an_hour(seconds: float, tmp_path: Path) -> None:
    tables = steady(5)
    tables["gpu_samples"] = tables["gpu_samples"].with_columns(seconds=pl.lit(seconds))
    with pytest.raises(TraceError, match="seconds fails"):
        write_tables(tmp_path / "t", tables)
