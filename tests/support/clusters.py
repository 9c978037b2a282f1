"""Small traces: from rows of minutes, or random with every flaw."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import Trace
from philly_analysis.trace.writer import write_trace
from tests.support.small_traces import at


def frame(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """Rows of a table, with the types of the schema; columns in ``_at`` may be in minutes."""
    moments = [i for i, c in enumerate(columns) if c.endswith("_at")]
    converted = [list(row) for row in rows]
    for row in converted:
        for i in moments:
            row[i] = row[i] if row[i] is None or isinstance(row[i], datetime) else at(row[i])
    types = pl.DataFrame(TABLES[table].arrow.empty_table()).schema
    return pl.DataFrame(converted, schema={c: types[c] for c in columns}, orient="row")


COLUMNS = {
    "jobs": ("job_id", "vc", "user", "gpus", "submitted_at", "status"),
    "attempts": ("job_id", "attempt", "started_at", "ended_at"),
    "machines": ("machine_id", "gpus"),
    "placements": ("job_id", "attempt", "machine_id", "gpu"),
    "virtual_clusters": ("vc", "gpus"),
    "gpu_samples": ("sampled_at", "machine_id", "util_pct"),
    "host_samples": ("sampled_at", "machine_id", "cpu_pct"),
    "failures": ("job_id", "attempt", "reason"),
}
"""Columns of tables that are given as rows."""

Rows = pl.DataFrame | Mapping[str, int] | Iterable[Sequence[Any]]
"""A table: a frame, its rows of COLUMNS with times in minutes, or GPUs by name."""

MakeTrace = Callable[..., Trace]
"""Write and open a trace, given as to `trace_of`."""


def table_of(name: str, rows: Rows) -> pl.DataFrame:
    if isinstance(rows, pl.DataFrame):
        return rows
    return frame(name, COLUMNS[name], rows.items() if isinstance(rows, Mapping) else rows)


def tables_of(**given: Rows) -> dict[str, pl.DataFrame]:
    return {name: table_of(name, rows) for name, rows in given.items()}


def write_tables(
    out: str | Path,
    tables: Mapping[str, Rows],
    source: str = "test",
    *,
    name: str = "t",
    synthetic: bool = True,
    force: bool = False,
    **others: Any,
) -> Path:
    """Write tables as a trace, with other fields of its manifest."""
    manifest = Manifest(name=name, source=source, synthetic=synthetic, **others)
    return write_trace(out, tables_of(**tables), manifest, force=force)


def trace_of(out: Path, jobs: Rows, attempts: Rows, **others: Rows) -> Path:
    """Write a trace of jobs, attempts and other tables."""
    return write_tables(out, {"jobs": jobs, "attempts": attempts, **others})


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
    return tables_of(jobs=rows, attempts=attempts, machines=caps, placements=placements)


_UNKNOWN = [("a", None, None, 1, 0, None), ("b", None, None, 2, 3, None)]
_ONE: dict[str, Rows] = {"machines": {"m0": 4}, "placements": [("a", 1, "m0", 0)]}
_NONE: dict[str, Rows] = {"machines": {"m0": 4}, "placements": []}
ODD = {
    "empty": tables_of(jobs=[], attempts=[], machines={}, placements=[]),
    "one job": tables_of(jobs=_UNKNOWN[:1], attempts=[("a", 1, 1, 2)], **_ONE),
    "never ran": tables_of(jobs=_UNKNOWN, attempts=[], **_NONE),
    "no VCs, all overlapping": tables_of(
        jobs=_UNKNOWN,
        attempts=[("a", 1, 0, 50), ("a", 2, 10, 20), ("a", 3, 5, None), ("b", 1, None, 7)],
        **_ONE,
    ),
    "hostile names": tables_of(
        jobs=[(f"$\\frac{i}", "$\\frac{", f"_<b>{i}$", 2**i, i, "Pass") for i in range(3)],
        attempts=[(f"$\\frac{i}", 1, i + 1, 9) for i in range(3)],
        **_NONE,
    ),
    "random": random_tables(11),
}
"""Tables of odd traces."""


def shared_by_two_vcs(out: Path, **tables: pl.DataFrame) -> Path:
    """Return the trace of 12 GPUs that two virtual clusters share, and more tables.

    x has 3 GPUs for 5 minutes of 1,000, 2 for 30 minutes, and else 1; y has a gang of 8.
    """
    ends = {"a": 1_000, "b": 30, "c": 5, "d": 1_000}
    jobs = [
        (job, "y" if job == "d" else "x", "u", 8 if job == "d" else 1, 0, "Pass") for job in ends
    ]
    attempts = [(job, 1, 0, end) for job, end in ends.items()]
    machines = frame("machines", ("machine_id", "gpus"), [("m0", 4), ("m1", 8)])
    return trace_of(out, jobs, attempts, machines=machines, **tables)
