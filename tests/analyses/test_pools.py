"""Check that pools never mix: two pools give the results of each alone."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, random_tables, write_tables

_KEYS = ("job_id", "machine_id", "vc", "user")
_RELATIONS = (
    "wait_causes",
    "overtakings",
    "attempt_servers",
    "occupancy",
    "shortages",
    "room",
)


def _pool(seed: int, name: str, column: str) -> dict[str, pl.DataFrame]:
    """A random cluster all of whose jobs and machines say that they are of one pool."""
    caps = {f"m{i}": 4 + 2 * (seed % 3) for i in range(3 + seed % 2)}
    tables = random_tables(seed, jobs=30, caps=caps)
    end = frame("jobs", ("job_id", "gpus", "submitted_at"), [("end", 0, 9_000)])
    tables["jobs"] = pl.concat([tables["jobs"], end], how="diagonal")
    renamed = {
        table: rows.with_columns(pl.format(f"{name}-{{}}", c).alias(c) for c in _KEYS if c in rows)
        for table, rows in tables.items()
    }
    for table in ("jobs", "machines"):
        renamed[table] = renamed[table].with_columns(pl.lit(name).alias(column))
    return renamed


def _answers(out: Path, tables: dict[str, pl.DataFrame]) -> dict[str, list[dict[str, Any]]]:
    with Trace(write_tables(out, tables)) as trace:
        return {r: trace.answer(r).pl().to_dicts() for r in _RELATIONS}


def _in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(
        repr({k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()})
        for row in rows
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "column", ["pool", *(pytest.param(c, marks=pytest.mark.slow) for c in ("cluster", "gpu_model"))]
)
def test_two_pools_side_by_side_answer_as_each_alone(tmp_path: Path, column: str) -> None:
    a, b = _pool(31, "a", column), _pool(32, "b", column)
    both = {name: pl.concat([a[name], b[name]], how="diagonal") for name in a}
    together = _answers(tmp_path / "both", both)
    alone = [_answers(tmp_path / n, t) for n, t in (("a", a), ("b", b))]
    for name in _RELATIONS:
        expected = [row for answers in alone for row in answers[name]]
        assert expected
        assert _in_order(together[name]) == _in_order(expected), name


def test_a_job_waits_for_the_machines_that_may_serve_it(tmp_path: Path) -> None:
    # the V100s are full until minute 60, the A100s are free but for 10 minutes
    machines = [
        ("m0", 4, "gpu/v100", "v100"),
        ("m1", 4, "gpu/a100", "a100"),
        ("c0", 0, "cpu", None),
    ]
    jobs = [
        ("first", 4, 0, None, "v100"),
        ("short", 4, 0, "gpu/a100", None),
        ("typed", 2, 20, None, "v100"),
        ("named", 2, 20, "gpu/v100", None),
        ("part", 2, 20, "gpu", None),
        ("any", 2, 20, None, None),
        ("none", 2, 20, "tpu", None),
        ("wide", 8, 20, "gpu", None),
    ]
    held = dict.fromkeys(("typed", "named", "part", "any", "none"), ("m0", 60, 61))
    held |= {"first": ("m0", 0, 60), "short": ("m1", 0, 10)}
    attempts = [(j, 1, since, until) for j, (_, since, until) in held.items()]
    placements = [(j, 1, m, 4 if j in ("first", "short") else 2) for j, (m, _, _) in held.items()]
    attempts.append(("wide", 1, 70, 80))
    placements += [("wide", 1, "m0", 4), ("wide", 1, "m1", 4)]
    tables = {
        "jobs": frame("jobs", ("job_id", "gpus", "submitted_at", "pool", "gpu_model"), jobs),
        "attempts": frame("attempts", ("job_id", "attempt", "started_at", "ended_at"), attempts),
        "machines": frame("machines", ("machine_id", "gpus", "pool", "gpu_model"), machines),
        "placements": frame("placements", ("job_id", "attempt", "machine_id", "gpus"), placements),
    }
    with Trace(write_tables(tmp_path / "t", tables)) as trace:
        minutes = trace.sql(
            "select job_id, fragmentation_s / 60, unknown_s / 60 from wait_causes where wait_s > 0"
        ).fetchall()
        pools = dict(trace.sql("from job_pools").fetchall())
        needs = trace.sql("select job_id, fewest_servers from attempt_servers").fetchall()
        of_machines = trace.sql("select machine_id, pool from machine_pools").fetchall()
    assert {job: rest for job, *rest in minutes} == {
        "typed": [40, 0],
        "named": [40, 0],
        "part": [0, 40],
        "any": [0, 40],
        "none": [0, 40],  # nothing is known of machines that serve it
        "wide": [41, 9],  # and the minute that the others run
    }
    assert pools["typed"] == pools["named"] == pools["first"] == "v100 GPUs"
    assert pools["part"] == pools["any"] == pools["wide"] == "pool gpu"
    assert pools["none"] == "pool tpu"
    assert dict(needs)["wide"] == 2
    assert dict(of_machines) == {"m0": "v100 GPUs", "m1": "pool gpu/a100"}
