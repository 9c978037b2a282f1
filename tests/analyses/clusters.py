"""Small traces for the tests of analyses: from rows of minutes, or random with every flaw."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.writer import write_trace
from tests.support.small_traces import at


def frame(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """Rows of a table, with the types of the schema; columns in ``_at`` are given in minutes."""
    moments = [i for i, c in enumerate(columns) if c.endswith("_at")]
    converted = [list(row) for row in rows]
    for row in converted:
        for i in moments:
            row[i] = None if row[i] is None else at(row[i])
    types = pl.DataFrame(TABLES[table].arrow.empty_table()).schema
    return pl.DataFrame(converted, schema={c: types[c] for c in columns}, orient="row")


JOBS = ("job_id", "vc", "user", "gpus", "submitted_at", "status")
ATTEMPTS = ("job_id", "attempt", "started_at", "ended_at")


def trace_of(
    out: Path,
    jobs: pl.DataFrame | Iterable[Sequence[Any]],
    attempts: pl.DataFrame | Iterable[Sequence[Any]],
    *,
    source: str = "test",
    synthetic: bool = True,
    **others: pl.DataFrame,
) -> Path:
    """Write a trace from rows of JOBS and ATTEMPTS, times in minutes, and other tables."""
    if not isinstance(jobs, pl.DataFrame):
        jobs = frame("jobs", JOBS, jobs)
    if not isinstance(attempts, pl.DataFrame):
        attempts = frame("attempts", ATTEMPTS, attempts)
    tables = {"jobs": jobs, "attempts": attempts} | others
    return write_trace(out, tables, Manifest(name="t", source=source, synthetic=synthetic))


MACHINES = {"m0": 8, "m1": 8, "m2": 4, "m3": 4, "m4": 2}
GANGS = (0, 1, 1, 1, 2, 4, 8, 12)


def random_tables(
    seed: int,
    jobs: int = 60,
    *,
    tidy: bool = False,
    caps: Mapping[str, int] = MACHINES,
    gangs: Sequence[int] = GANGS,
) -> dict[str, pl.DataFrame]:
    """A random cluster; unless tidy, attempts overlap and lack times and VCs."""
    rng = np.random.default_rng(seed)
    every = [(m, g) for m, n in caps.items() for g in range(n)]
    rows, attempts, placements = [], [], []
    for i in range(jobs):
        gpus = int(rng.choice(gangs))
        vc = None if not tidy and rng.random() < 0.1 else f"v{rng.integers(3)}"
        user = None if not tidy and rng.random() < 0.1 else f"u{rng.integers(6)}"
        status = str(rng.choice(["Pass", "Killed", "Failed"]))
        submitted = int(rng.integers(0, 3_000))
        rows.append((f"j{i}", vc, user, gpus, submitted, status))
        now = submitted
        for attempt in range(1, int(rng.integers(1 if tidy else 0, 4)) + 1):
            started = now + int(rng.integers(0, 40)) * int(rng.integers(0, 2))
            ended = started + int(rng.integers(0, 300))
            flaw = "" if tidy else str(rng.choice(["", "", "", "", "start", "end", "back"]))
            attempts.append(
                (
                    f"j{i}",
                    attempt,
                    None if flaw == "start" else started,
                    None if flaw == "end" else ended,
                )
            )
            held = rng.choice(len(every), gpus, replace=False)
            placements += [(f"j{i}", attempt, *every[k]) for k in held]
            now = max(ended - 50, 0) if flaw == "back" else ended
    return {
        "jobs": frame("jobs", JOBS, rows),
        "attempts": frame("attempts", ATTEMPTS, attempts),
        "machines": frame("machines", ("machine_id", "gpus"), caps.items()),
        "placements": frame("placements", ("job_id", "attempt", "machine_id", "gpu"), placements),
    }


def write_tables(out: Path, tables: dict[str, pl.DataFrame]) -> Path:
    """Write tables as a synthetic trace."""
    return write_trace(out, tables, Manifest(name="t", source="test", synthetic=True))
