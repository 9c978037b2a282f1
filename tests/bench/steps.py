"""Run a step of the benchmark in a new process and measure its time and memory.

:func:`measure` starts ``python -m tests.bench.steps STEP RAW TRACE NAME…``.
"""

import gc
import json
import os
import pstats
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import NamedTemporaryFile, TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.ingest.build import input_of
from philly_analysis.parallel import cores
from philly_analysis.trace.schema import TABLES
from tests.bench.costs import Cost


def scan(raw: Path, _trace: Path, _name: str) -> None:
    """Parse every field of the raw files as its type, and discard the rows."""
    with duckdb.connect() as con:
        con.execute("set preserve_insertion_order = false")
        for relation in _samples(raw):
            counts = ", ".join(f"count({c})" for c in con.sql(f"from {relation} limit 0").columns)
            con.sql(f"select {counts} from {relation}").fetchall()
        log = f"read_json('{raw}/cluster_job_log')"
        con.sql(f"select count(attempts), count(jobid) from {log}").fetchall()


def _samples(raw: Path) -> list[str]:
    """Return a relation of DuckDB for each raw file of samples, with typed fields."""
    gpus = ", ".join(f"'gpu{i}': 'double'" for i in range(16))
    columns = {
        "cluster_gpu_util": f"{gpus}, 'rest': 'varchar'",
        "cluster_cpu_util": "'cpu_util': 'double'",
        "cluster_mem_util": "'mem_total': 'double', 'mem_free': 'double'",
    }
    return [
        f"read_csv('{raw / name}', columns = {{'time': 'varchar', 'machine': 'varchar', "
        f"{fields}}}, header = true, delim = ',', quote = '', escape = '', "
        "auto_detect = false, nullstr = ['NA', ''], null_padding = true, ignore_errors = true)"
        for name, fields in columns.items()
    ]


def floor(raw: Path, trace: Path, name: str) -> None:
    """Run the lower bounds of ingest and report, by libraries alone.

    ``hash`` hashes each raw file once; ``convert`` parses the raw samples and writes them as
    Parquet, as they are; ``copy`` reads and writes the samples of the trace once; ``count`` reads
    them once and counts their readings by whole percent, whatever the attempt.
    """
    with TemporaryDirectory(dir=trace.parent) as made, ThreadPoolExecutor() as pool:
        files = trace.glob("*_samples/*.parquet")
        if name == "hash":
            deque(pool.map(input_of, raw.glob("cluster_*")), maxlen=0)
        elif name == "convert":
            with duckdb.connect() as con:
                con.execute("set preserve_insertion_order = false")
                for i, relation in enumerate(_samples(raw)):
                    con.sql(f"from {relation}").write_parquet(f"{made}/{i}", compression="snappy")
        elif name == "copy":
            deque(pool.map(partial(_copy, folder=Path(made)), files), maxlen=0)
        else:
            deque(pool.map(_count, files), maxlen=0)


def _count(file: Path) -> None:
    rows = pq.read_table(file, use_threads=False)
    for name in {"util_pct", "cpu_pct", "mem_used_gb"} & {*rows.column_names}:
        column = rows[name].combine_chunks()
        values = column.values if name == "util_pct" else column
        np.bincount(np.ceil(values.fill_null(101).cast(pa.float64()).to_numpy()).astype(np.int64))


def _copy(file: Path, folder: Path) -> None:
    rows = pq.read_table(file, use_threads=False)
    keys = list(TABLES[file.parent.name].key)
    pq.write_table(rows, folder / file.name, compression="none", use_dictionary=keys)


def ingest(raw: Path, trace: Path, _name: str) -> None:
    """Ingest the raw files."""
    from philly_analysis import ingest as run

    run("philly", raw, trace, force=True)


def join(_raw: Path, trace: Path, samples: str) -> None:
    """Create all relations that a report needs from one table of samples."""
    from philly_analysis.report.findings import ANALYSES
    from philly_analysis.trace.relations import relations
    from philly_analysis.trace.trace import Trace

    with Trace(trace) as opened:
        counts = {a.sample_counts for a in ANALYSES.values() if a.sample_counts}
        opened.create(name for name in sorted(counts) if relations()[name].samples == samples)


def analysis(_raw: Path, trace: Path, name: str) -> None:
    """Compute one analysis without the result cache."""
    from philly_analysis.report.findings import ANALYSES
    from philly_analysis.trace.trace import Trace

    with Trace(trace) as opened:
        ANALYSES[name].compute(opened)


def report(_raw: Path, trace: Path, _name: str) -> None:
    """Compute what the result cache lacks and write the report, as the command line does."""
    from philly_analysis.cli import app

    app(["report", str(trace), "--out", str(trace.parent / "reports")], standalone_mode=False)


def sweep(_raw: Path, _trace: Path, _name: str) -> None:
    """Simulate eight months of a model under three policies, in a process per core."""
    from philly_analysis import sweep as run

    policies = ["fifo", "easy", "srtf"]
    run("philly", policies, loads=[0.8], seeds=range(8), jobs=3_000, cluster=256, executor=cores())


def atlas(_raw: Path, _trace: Path, folder: str) -> None:
    """Ingest the public traces of a folder in a process per core, and test the findings."""
    from philly_analysis import atlas as run

    run(datasets=folder, executor=cores())


STEPS: dict[str, Callable[[Path, Path, str], None]] = {
    step.__name__: step for step in (scan, floor, ingest, join, analysis, report, sweep, atlas)
}


def measure(
    step: str, raw: Path, trace: Path, names: Iterable[str] = ("",), on: int | None = None
) -> list[Cost]:
    """Run a step for each name in one new process, on so many cores; its start is not counted."""
    command = [sys.executable, "-m", "tests.bench.steps", step, str(raw), str(trace), *names]
    if on:
        allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))[:on]))
        command = ["taskset", "--cpu-list", allowed, *command]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    lines = ran.stdout.splitlines()
    return [Cost(**json.loads(line)) for line in lines if line.startswith("{")]


def profile(step: str, raw: Path, trace: Path) -> None:
    """Run a step in a new process and print the functions of the package that took most time.

    The time of libraries counts for the functions that called them.
    """
    with NamedTemporaryFile() as file:
        command = [sys.executable, "-m", "cProfile", "-o", file.name, "-m", "tests.bench.steps"]
        subprocess.run([*command, step, raw, trace, ""], stdout=subprocess.DEVNULL, check=True)
        stats = pstats.Stats(file.name).sort_stats("cumulative")
    stats.print_stats("philly_analysis", 20)


def cpu_s() -> float:
    """Return the CPU seconds of this process and of its ended child processes so far."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def reset_peak() -> None:
    """Reset the peak that :func:`peak_mb` returns, where the system supports it."""
    refs = Path("/proc/self/clear_refs")
    if refs.exists():
        refs.write_text("5")


def peak_mb() -> float:
    """Return the peak memory of this process, or of its largest ended child if that is more."""
    largest_kb = getrusage(RUSAGE_CHILDREN).ru_maxrss
    status = Path("/proc/self/status")
    if not status.exists():
        return max(largest_kb, getrusage(RUSAGE_SELF).ru_maxrss) / 1024
    [peak_line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return max(largest_kb, int(peak_line.split()[1])) / 1024


def _run(step: str, raw: Path, trace: Path, name: str) -> Cost:
    reset_peak()
    wall, cpu = time.perf_counter(), cpu_s()
    STEPS[step](raw, trace, name)
    wall, cpu = time.perf_counter() - wall, cpu_s() - cpu
    return Cost(f"{step} {name}".strip(), wall, cpu, peak_mb())


def main(step: str, raw: str, trace: str, *names: str) -> None:
    """Run a step in this process and print one line of JSON per name.

    Joins and analyses are measured warm: after the modules are imported and the SQL is read. The
    report is measured cold.
    """
    gc.set_threshold(100_000)  # as the command line does
    if step in ("join", "analysis"):
        from philly_analysis.report.findings import ANALYSES
        from philly_analysis.trace.relations import relations

        relations()
        assert ANALYSES
    for name in names:
        cost = _run(step, Path(raw), Path(trace), name)
        sys.stdout.write("\n" + json.dumps(asdict(cost)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
