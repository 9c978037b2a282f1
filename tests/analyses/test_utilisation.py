"""Compare findings on utilisation with recounted means and percentiles and known effects."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import fsum
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import ingest
from philly_analysis.analyses import (
    gpu_util,
    gpu_util_by_servers,
    gpu_util_dedicated,
    host_util,
    locality_effect,
)
from philly_analysis.analyses.locality_effect import compared, effect_of_spread
from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, trace_of, write_tables
from tests.analyses.samples import (
    MINUTE,
    Tables,
    by_attempt,
    floor,
    gpu_frame,
    mem_pct,
    minutes_of,
    sampled_cluster,
)
from tests.analyses.test_gpu_use import overlaps, walked
from tests.support import archives
from tests.support.facts import number
from tests.support.small_traces import at


@pytest.fixture(scope="module")
def cluster() -> Tables:
    return sampled_cluster(11)


@pytest.fixture(scope="module")
def trace(cluster: Tables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with Trace(write_tables(tmp_path_factory.mktemp("util") / "t", cluster)) as opened:
        yield opened


@pytest.fixture(scope="module")
def readings(cluster: Tables) -> pd.DataFrame:
    """One row per GPU-minute of a GPU that nobody else held."""
    shared = overlaps(cluster, lambda machine, gpu: (machine, gpu))
    jobs = {r["job_id"]: r for r in cluster["jobs"].iter_rows(named=True)}
    caps = dict(cluster["machines"].iter_rows())
    attempts = by_attempt(cluster)
    rows = []
    for (job, attempt, machine, gpu), values in walked(cluster).items():
        if shared[(job, attempt), (machine, gpu)]:
            continue
        held = attempts[job, attempt]["held"]
        servers = {m for m, _ in held}
        whole = sum(caps[m] for m in servers) == len(held)
        sizes = sorted(caps.values(), reverse=True)
        fewest = next(n for n in range(1, 9) if sum(sizes[:n]) >= len(held))
        rows += [
            (
                job,
                attempt,
                len(held),
                jobs[job]["status"],
                len(servers),
                whole and len(servers) == fewest,
                u,
            )
            for u in values
            if u is not None
        ]
    columns = ["job_id", "attempt", "gpus", "status", "servers", "dedicated", "util_pct"]
    return pd.DataFrame(rows, columns=columns)


def matches(rows: pd.DataFrame, values: pd.Series) -> None:
    """A finding's rows of one group are those of the values, percentiles to within a point."""
    rows = rows.sort_values("percentile")
    assert list(rows["percentile"]) == list(range(101))
    assert rows["mean_pct"].to_numpy() == pytest.approx(fsum(values) / len(values), rel=1e-9)
    exact = np.percentile(values, range(101), method="inverted_cdf")
    assert np.all(np.abs(rows["util_pct"].to_numpy() - exact) <= 1 + 1e-9)
    assert np.all(np.diff(rows["util_pct"]) >= -1e-9)


def test_every_cell_of_size_and_status(trace: Trace, readings: pd.DataFrame) -> None:
    table = gpu_util.compute(trace).table
    cells = table.groupby(["gpus", "status"], dropna=False)
    assert cells.ngroups > 10
    for _, rows in cells:
        some = readings
        for column in ("gpus", "status"):
            if not rows[column].isna().all():
                some = some[some[column] == rows[column].iloc[0]]
        matches(rows, some["util_pct"])
        assert rows["gpu_h"].iloc[0] == pytest.approx(len(some) / 60)
        assert rows["idle_pct"].iloc[0] == pytest.approx(100 * (some["util_pct"] == 0).mean())
        assert rows["attempts"].iloc[0] == len(
            set(zip(some["job_id"], some["attempt"], strict=True))
        )


def test_every_number_of_servers(trace: Trace, readings: pd.DataFrame) -> None:
    table = gpu_util_by_servers.compute(trace).table
    groups = readings[readings["gpus"] > 1].groupby(["gpus", "servers"])
    assert len(table) == 101 * groups.ngroups
    for (gpus, servers), some in groups:
        matches(table[(table["gpus"] == gpus) & (table["servers"] == servers)], some["util_pct"])


def test_gangs_that_have_their_servers_to_themselves(tmp_path: Path) -> None:
    held = {
        "whole": [("a", g) for g in range(4)],
        "part": [("b", g) for g in range(2)],  # half of a server
        "two": [("c", g) for g in range(4)] + [("d", g) for g in range(4)],
        "small": [("e", 0), ("e", 1), ("f", 0), ("f", 1)],  # whole servers, but more than needed
    }
    busy = {"whole": 80.0, "part": 10.0, "two": 40.0, "small": 20.0}
    machine_of = {m: j for j, gpus in held.items() for m, _ in gpus}
    path = trace_of(
        tmp_path / "t",
        [(j, "v", "u", len(gpus), 0, "Pass") for j, gpus in held.items()],
        [(j, 1, 0, 30) for j in held],
        machines=frame(
            "machines", ("machine_id", "gpus"), [(m, 2 if m in "ef" else 4) for m in "abcdef"]
        ),
        placements=frame(
            "placements",
            ("job_id", "attempt", "machine_id", "gpu"),
            [(j, 1, m, g) for j, gpus in held.items() for m, g in gpus],
        ),
        gpu_samples=gpu_frame(
            [(at(i), m, [busy[machine_of[m]]] * 4) for i in range(30) for m in "abcdef"]
        ),
    )
    with Trace(path) as trace:
        result = gpu_util_dedicated.compute(trace)
    assert result.fact("mean_4_pct") == 80
    assert result.fact("mean_8_pct") == 40
    assert set(result.table["gpus"]) == {4, 8}
    assert set(result.table["servers"]) == {1, 2}


def test_servers_with_a_job_and_without(trace: Trace, cluster: Tables) -> None:
    table = host_util.compute(trace).table
    busy = defaultdict(set)
    for a in by_attempt(cluster).values():
        for minute in minutes_of(a):
            for machine, _ in a["held"]:
                busy[machine].add(minute)
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for r in cluster["host_samples"].iter_rows(named=True):
        state = "with a job" if r["sampled_at"] in busy[r["machine_id"]] else "without a job"
        for servers in (state, "all"):
            for resource, pct in (("cpu", r["cpu_pct"]), ("mem", mem_pct(r))):
                if pct is not None:
                    values[resource, servers].append(pct)
    groups = table.groupby(["resource", "servers"])
    assert set(groups.groups) == set(values)
    for name, rows in groups:
        key = str(name[0]), str(name[1])
        matches(rows, pd.Series(values[key]))
        assert rows["server_h"].iloc[0] == pytest.approx(len(values[key]) / 60)


def cells(rows: list[tuple[str, int, str, bool, float, float]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["user", "gpus", "status", "spread", "minutes", "mean"])
    return table.assign(sum_pct=table["minutes"] * table["mean"])


def test_the_effect_is_that_within_strata_not_across_them() -> None:
    # within each status spread loses 10 points; pooled it looks like a gain
    rows = cells(
        [
            ("a", 8, "Pass", False, 900, 30),
            ("a", 8, "Pass", True, 100, 20),
            ("b", 8, "Failed", False, 100, 90),
            ("b", 8, "Failed", True, 900, 80),
            ("c", 4, "Pass", False, 500, 50),
        ]
    )
    both = compared(rows)
    assert set(both["user"]) == {"a", "b"}
    effect = effect_of_spread(both, np.random.default_rng(1))
    assert effect.effect_pct == pytest.approx(-10)
    assert effect.spread_pct == pytest.approx((100 * 20 + 900 * 80) / 1000)
    assert effect.strata == 2
    assert np.isnan(effect.low_pct)  # two users make no interval


def test_the_interval_covers_the_effect_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits, trials = 0, 120
    for _ in range(trials):
        rows = [
            (f"u{u}", 8, "Pass", spread, 100.0, 50 + level - 6 * spread + rng.normal(0, 4))
            for u, level in enumerate(rng.normal(0, 15, 40))
            for spread in (False, True)
        ]
        effect = effect_of_spread(cells(rows), rng)
        hits += effect.low_pct <= -6 <= effect.high_pct
    assert 0.88 <= hits / trials <= 1.0


def test_the_interval_grows_when_users_repeat_themselves() -> None:
    rng = np.random.default_rng(6)
    levels = rng.normal(50, 20, 30)
    one = [(f"u{u}", 8, "Pass", u % 2 == 0, 10.0, level) for u, level in enumerate(levels)]
    ten = [(f"{u}-{k}", *rest) for u, *rest in one for k in range(10)]
    narrow = effect_of_spread(cells(ten), np.random.default_rng(1))
    wide = effect_of_spread(cells(one), np.random.default_rng(1))
    assert wide.effect_pct == pytest.approx(narrow.effect_pct)
    ratio = (wide.high_pct - wide.low_pct) / (narrow.high_pct - narrow.low_pct)
    assert ratio == pytest.approx(10**0.5, rel=0.15)


def spread_cluster(tmp_path: Path, spread_pct: float) -> Path:
    """Twelve users with one packed and one spread gang each; odd ones have company."""
    jobs, attempts, placements, samples = [], [], [], []
    for u in range(12):
        for kind, (m1, m2) in (("p", ("a", "a")), ("s", ("a", "b"))):
            job, began = f"{kind}{u}", 100 * u + (50 if kind == "s" else 0)
            jobs.append((job, "v", f"u{u}", 2, began, "Pass"))
            attempts.append((job, 1, began, began + 20))
            placements += [(job, 1, m1, 0), (job, 1, m2, 1)]
            if u % 2:
                jobs.append((f"x{job}", "v", "other", 1, began, "Pass"))
                attempts.append((f"x{job}", 1, began + 5, began + 10))
                placements.append((f"x{job}", 1, "a", 3))
            level = 40.0 + u
            util = [level if kind == "p" else level + spread_pct] * 4
            samples += [(at(began + i), m, util) for i in range(20) for m in {m1, m2}]
    return trace_of(
        tmp_path / "t",
        jobs,
        attempts,
        machines=frame("machines", ("machine_id", "gpus"), [("a", 4), ("b", 4)]),
        placements=frame("placements", ("job_id", "attempt", "machine_id", "gpu"), placements),
        gpu_samples=gpu_frame(samples),
    )


@pytest.mark.parametrize(
    ("spread_pct", "said"),
    [
        (-25.0, "25.0 percentage points lower"),
        (25.0, "25.0 percentage points higher"),
        (0.0, "does not differ clearly"),
    ],
)
def test_sentence_of_the_effect(tmp_path: Path, spread_pct: float, said: str) -> None:
    with Trace(spread_cluster(tmp_path, spread_pct)) as trace:
        result = locality_effect.compute(trace)
    table = result.table[result.table["gpus"].isna()].set_index("among")
    assert table["effect_pct"].to_dict() == pytest.approx(
        {"all": spread_pct, "alone": spread_pct, "with co-tenants": spread_pct}
    )
    assert table["spread_attempts"].to_dict() == {"all": 12, "alone": 6, "with co-tenants": 6}
    assert said in result.sentences[0]
    assert result.fact("effect_all_pct") == pytest.approx(spread_pct)


def test_the_notebooks_definition_matches_minutes_as_strings(tmp_path: Path) -> None:
    """Across the end of summer time, whose repeated hour its dictionary overwrites."""
    rng = np.random.default_rng(9)
    dst = datetime(2017, 11, 5, 9)
    samples = [
        (dst + k * MINUTE, m, [float(u) for u in rng.random(8) * 100])
        for k in range(-900, 1_500)
        for m in ("m0", "m1")
        if rng.random() > 0.1
    ]
    began = dst - timedelta(hours=16, seconds=-20)
    jobs = [("one", 1), ("eight", 8), ("two", 2)]
    held = {
        "one": [("m0", 3)],
        "eight": [("m1", g) for g in range(8)],
        "two": [("m0", 0), ("m0", 1)],
    }
    path = trace_of(
        tmp_path / "t",
        pl.DataFrame(
            [(j, "v", "u", n, began, "Pass") for j, n in jobs],
            schema=["job_id", "vc", "user", "gpus", "submitted_at", "status"],
            orient="row",
        ),
        pl.DataFrame(
            [(j, 1, began, dst + timedelta(hours=15, minutes=7)) for j, _ in jobs],
            schema=["job_id", "attempt", "started_at", "ended_at"],
            orient="row",
        ),
        machines=frame("machines", ("machine_id", "gpus"), [("m0", 8), ("m1", 8)]),
        placements=frame(
            "placements",
            ("job_id", "attempt", "machine_id", "gpu"),
            [(j, 1, m, g) for j, gpus in held.items() for m, g in gpus],
        ),
        gpu_samples=gpu_frame(samples),
    )
    # the notebook's own way: a dictionary by wall-clock string, filled in the order of time
    strings = {}
    for moment, machine, util in samples:
        local = moment - timedelta(hours=7 if moment < dst else 8)
        strings[f"{local:%Y-%m-%d %H:%M}", machine] = util
    expected: dict[int, list[float]] = {1: [], 8: []}
    minute = floor(began)
    while minute < dst + timedelta(hours=15, minutes=7):
        for job, gpus in (("one", 1), ("eight", 8)):
            for machine, gpu in held[job]:
                if at_once := strings.get((f"{minute:%Y-%m-%d %H:%M}", machine)):
                    expected[gpus].append(at_once[gpu])
        minute += MINUTE
    with Trace(path) as trace:
        table = trace.answer("notebook_gpu_util").df()
    for gpus in (1, 8):
        rows = table[(table["figure"] == 5) & (table["gpus"] == gpus)]
        assert set(rows["status"]) == {"Pass"}
        assert rows["gpu_h"].iloc[0] == pytest.approx(len(expected[gpus]) / 60)
        matches(rows, pd.Series(expected[gpus]))
    dedicated = table[table["figure"] == 6]
    assert set(dedicated["gpus"]) == {8}
    assert dedicated["status"].isna().all()


@pytest.mark.real_data
def test_sixteen_gpus_on_two_four_and_eight_servers(traces: Path, tmp_path: Path) -> None:
    """Real minutes on the mended clock, recounted from the extract without our join."""
    source = traces / "philly-multigpu-jobs"
    jobs = {
        j["jobid"]: j
        for j in json.loads(gzip.decompress((source / "sampled_jobs.json.gz").read_bytes()))
    }
    starts = pl.DataFrame(
        [(name, datetime.fromisoformat(j["start_time"])) for name, j in jobs.items()],
        schema=["jobid", "start"],
        orient="row",
    )
    cells = (
        pl.read_csv(source / "gpu_util.csv.gz", infer_schema=False)
        .drop("machine_type", "trace")
        .unpivot(index=["jobid", "name"], variable_name="k", value_name="util")
        .with_columns(pl.col("util").cast(float, strict=False), pl.col("k").cast(int))
        .filter(pl.col("util") >= 0)  # -1: offline; no number: no record
        .join(starts, on="jobid")
        .with_columns(local=pl.col("start").dt.truncate("1m") + pl.duration(minutes="k"))
        # the hour that came twice: nobody knows which of the two a cell is
        .filter(~pl.col("local").is_between(datetime(2017, 11, 5, 1), datetime(2017, 11, 5, 1, 59)))
        .with_columns(
            utc=pl.col("local")
            + pl.when(pl.col("local") < datetime(2017, 11, 5, 1))
            .then(pl.duration(hours=7))
            .otherwise(pl.duration(hours=8))
        )
        .unique(["name", "utc"])
    )
    minutes: dict[str, list[tuple[datetime, float]]] = defaultdict(list)
    for name, utc, util in cells.select("name", "utc", "util").iter_rows():
        minutes[name].append((utc, util))
    pooled: dict[int, list[float]] = defaultdict(list)
    for j in jobs.values():
        gpus = [f"{d['ip']}_{g}" for d in j["detail"] for g in d["gpus"]]
        began, ended = (datetime.fromisoformat(j[k]) for k in ("start_time", "end_time"))
        if len(gpus) == 16:
            pooled[len({d["ip"] for d in j["detail"]})] += [
                u for g in gpus for utc, u in minutes[g] if floor(began) <= utc < ended
            ]
    raw = archives.multigpu_archive(traces, tmp_path / "raw")
    ingest("philly", raw, tmp_path / "trace")
    with Trace(tmp_path / "trace") as trace:
        result = gpu_util_by_servers.compute(trace)
    means = [number(result, f"mean_16_on_{n}_pct") for n in (2, 4, 8)]
    assert means == pytest.approx([fsum(pooled[n]) / len(pooled[n]) for n in (2, 4, 8)], rel=1e-9)
    assert means[0] > means[1] > means[2]  # as in the study's Table 5
