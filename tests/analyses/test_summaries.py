"""Compare utilisation from summaries with a plain-Python reference."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import analyze
from tests.analyses.clusters import frame, random_tables, write_tables


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    """The random cluster, four attempts of five summed up by GPU, some without a time."""
    rng = np.random.default_rng(3)
    tables = random_tables(3)
    rows: list[tuple[object, ...]] = []
    for job, attempt, machine, gpu in tables["placements"].unique().sort(pl.all()).iter_rows():
        if rng.random() < 0.8:
            seconds = None if attempt == 2 else float(100 * attempt)
            rows.append((job, attempt, machine, gpu, 1, float(rng.random() * 100), seconds))
    for job, attempt, machine in {r[:3] for r in rows}:
        rows.append((job, attempt, machine, None, None, None, None))
    names = ("job_id", "attempt", "machine_id", "gpu", "gpus", "util_pct", "seconds")
    tables["summaries"] = frame("summaries", names, rows)
    return tables


def test_means_of_attempts_by_gang_are_those_of_a_walk(
    tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    jobs = {r["job_id"]: r for r in tables["jobs"].iter_rows(named=True)}
    times = {(r[0], r[1]): (r[2], r[3]) for r in tables["attempts"].iter_rows()}
    utils, seconds = defaultdict(list), {}
    for r in tables["summaries"].iter_rows(named=True):
        if r["util_pct"] is not None:
            key = (r["job_id"], r["attempt"])
            utils[key].append(r["util_pct"])
            seconds[key] = r["seconds"]
    groups = defaultdict(list)
    for key, values in utils.items():
        job = jobs[key[0]]
        start, end = times[key]
        ran = seconds[key]
        if ran is None and start is not None and end is not None:
            ran = (end - start).total_seconds()
        if job["gpus"]:
            gpu_h = None if ran is None else job["gpus"] * ran / 3600
            for group in [(g, s) for g in (job["gpus"], None) for s in (job["status"], None)]:
                groups[group].append((np.mean(values), gpu_h))
    path = write_tables(tmp_path / "t", tables)
    result = analyze(path, ["gpu_util_summaries"])["gpu_util_summaries"]
    seen = set()
    for _, found in result.table.groupby(["gpus", "status"], dropna=False):
        gpus, status = (found[c].iloc[0] for c in ("gpus", "status"))
        key = (None if pd.isna(gpus) else int(gpus), None if pd.isna(status) else status)
        walked = groups[key]
        seen.add(key)
        known = [(m, h) for m, h in walked if h is not None]
        assert set(found["attempts"]) == {len(walked)}
        assert found["gpu_h"].iloc[0] == pytest.approx(sum(h for _, h in known))
        if sum(h for _, h in known):
            mean = sum(m * h for m, h in known) / sum(h for _, h in known)
            assert found["mean_pct"].iloc[0] == pytest.approx(mean)
        curve = np.percentile([m for m, _ in walked], range(101))
        assert found["util_pct"].to_numpy() == pytest.approx(curve)
    assert seen == groups.keys()
    assert result.facts and result.sentences
