"""Compare findings on utilisation with recounted means and percentiles and known effects."""

import gzip
import json
from collections import defaultdict
from datetime import datetime
from math import fsum
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import ingest
from philly_analysis.analyses import gpu_util_by_servers, locality_effect
from philly_analysis.analyses.locality_effect import compared, effect_of_spread
from philly_analysis.trace.trace import Trace
from tests.analyses.samples import floor
from tests.support import archives
from tests.support.clusters import MakeTrace
from tests.support.facts import number
from tests.support.slow import quick_first


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


@pytest.mark.slow
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
    ten = [(f"{u}-{k}", *values) for u, *values in one for k in range(10)]
    narrow = effect_of_spread(cells(ten), np.random.default_rng(1))
    wide = effect_of_spread(cells(one), np.random.default_rng(1))
    assert wide.effect_pct == pytest.approx(narrow.effect_pct)
    ratio = (wide.high_pct - wide.low_pct) / (narrow.high_pct - narrow.low_pct)
    assert ratio == pytest.approx(10**0.5, rel=0.15)


def spread_cluster(make_trace: MakeTrace, spread_pct: float, users: int = 12) -> Trace:
    """Users with one packed and one spread gang each; odd ones have company."""
    jobs, attempts, placements, samples = [], [], [], []
    for u in range(users):
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
            samples += [(began + i, m, util) for i in range(20) for m in {m1, m2}]
    machines = {"a": 4, "b": 4}
    return make_trace(jobs, attempts, machines=machines, placements=placements, gpu_samples=samples)


@pytest.mark.parametrize(
    ("spread_pct", "said"),
    quick_first(
        [
            (-25.0, "25.0 percentage points lower"),
            (25.0, "25.0 percentage points higher"),
            (0.0, "does not differ clearly"),
        ]
    ),
)
def test_sentence_of_the_effect(make_trace: MakeTrace, spread_pct: float, said: str) -> None:
    result = locality_effect.compute(spread_cluster(make_trace, spread_pct))
    table = result.table[result.table["gpus"].isna()].set_index("among")
    assert table["effect_pct"].to_dict() == pytest.approx(
        {"all": spread_pct, "alone": spread_pct, "with co-tenants": spread_pct}
    )
    assert table["spread_attempts"].to_dict() == {"all": 12, "alone": 6, "with co-tenants": 6}
    assert said in result.sentences[0]
    assert result.fact("effect_all_pct") == pytest.approx(spread_pct)


def test_packed_and_spread_gangs_are_counted_apart() -> None:
    rows = cells([(f"u{u}", 8, "Pass", u == 0, 10, 50) for u in range(4)])
    log = rows.assign(attempts=[5, 1, 1, 2], co_tenants=False)
    answer = SimpleNamespace(df=lambda: log)
    result = locality_effect.compute(cast("Trace", SimpleNamespace(answer=lambda _: answer)))
    [counts] = result.table[result.table["gpus"].isna() & (result.table["among"] == "all")][
        ["packed_attempts", "spread_attempts", "packed_users", "spread_users"]
    ].to_numpy()
    assert counts.tolist() == [4, 5, 3, 1]


def test_use_by_servers_is_of_the_gang_size_on_several_numbers_of_servers(
    make_trace: MakeTrace,
) -> None:
    result = gpu_util_by_servers.compute(spread_cluster(make_trace, -25, users=5))
    assert result.sentences[0] == (
        "Gangs of 2 GPUs have a mean utilisation of 42.0 % on 1 server (n = 5), 17.0 % on "
        "2 servers (n = 5)."
    )
    alone = result.table[result.table["servers"] == 1]
    assert gpu_util_by_servers.reported_size(alone) is None


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
        # the repeated hour: a cell may be of either
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
