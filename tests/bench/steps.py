"""Run a step of the benchmark in a new process and measure its time and memory.

:func:`measure` starts ``python -m tests.bench.steps STEP RAW TRACE NAME…``.
"""

import gc
import json
import signal
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from operator import itemgetter
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import duckdb
import pyarrow.parquet as pq

import philly_analysis
from philly_analysis.ingest.build import input_of
from philly_analysis.trace.schema import TABLES
from tests.bench.costs import Cost


def scan(raw: Path, _trace: Path, _name: str) -> None:
    """Parse every field of the raw files as its type, and discard the rows."""
    gpus = ", ".join(f"'gpu{i}': 'double'" for i in range(16))
    columns = {
        "cluster_gpu_util": f"{gpus}, 'rest': 'varchar'",
        "cluster_cpu_util": "'cpu_util': 'double'",
        "cluster_mem_util": "'mem_total': 'double', 'mem_free': 'double'",
    }
    with duckdb.connect() as con:
        con.execute("set preserve_insertion_order = false")
        for name, fields in columns.items():
            relation = (
                f"read_csv('{raw / name}', columns = {{'time': 'varchar', 'machine': 'varchar', "
                f"{fields}}}, header = true, delim = ',', quote = '', escape = '', "
                "auto_detect = false, nullstr = ['NA', ''], null_padding = true, "
                "ignore_errors = true)"
            )
            counts = ", ".join(f"count({c})" for c in con.sql(f"from {relation} limit 0").columns)
            con.sql(f"select {counts} from {relation}").fetchall()
        log = f"read_json('{raw}/cluster_job_log')"
        con.sql(f"select count(attempts), count(jobid) from {log}").fetchall()


def floor(raw: Path, trace: Path, name: str) -> None:
    """Run the lower bounds of ingest beside parsing, by libraries alone.

    ``hash`` hashes each raw file once; ``copy`` reads and writes the samples of the trace once.
    """
    with TemporaryDirectory(dir=trace.parent) as made, ThreadPoolExecutor() as pool:
        if name == "hash":
            deque(pool.map(input_of, raw.glob("cluster_*")), maxlen=0)
        else:
            copy = partial(_copy, folder=Path(made))
            deque(pool.map(copy, trace.glob("*_samples/*.parquet")), maxlen=0)


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
    from philly_analysis.report.findings import SAMPLE_RELATIONS
    from philly_analysis.trace.relations import relations
    from philly_analysis.trace.trace import Trace

    with Trace(trace) as opened:
        opened.create(name for name in SAMPLE_RELATIONS if relations()[name].samples == samples)


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


STEPS: dict[str, Callable[[Path, Path, str], None]] = {
    step.__name__: step for step in (scan, floor, ingest, join, analysis, report)
}


def measure(step: str, raw: Path, trace: Path, names: Iterable[str] = ("",)) -> list[Cost]:
    """Run a step for each name in one new process; its start is not counted."""
    return [Cost(**cost) for cost in _in_new_process(step, raw, trace, names)]


def profiled(step: str, raw: Path, trace: Path) -> list[tuple[str, float]]:
    """Run a step in a new process and return its CPU time by function (see :func:`_profile`)."""
    return [(name, cpu_s) for name, cpu_s in _in_new_process("profile", raw, trace, [step])]


def cpu_s() -> float:
    """Return the CPU seconds of this process and of its ended child processes so far."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _in_new_process(step: str, raw: Path, trace: Path, names: Iterable[str]) -> list[Any]:
    command = [sys.executable, "-m", "tests.bench.steps", step, str(raw), str(trace), *names]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith(("{", "["))]


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
    [own] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return max(largest_kb, int(own.split()[1])) / 1024


def _run(step: str, raw: Path, trace: Path, name: str) -> Cost:
    reset_peak()
    wall, cpu = time.perf_counter(), cpu_s()
    STEPS[step](raw, trace, name)
    wall, cpu = time.perf_counter() - wall, cpu_s() - cpu
    return Cost(f"{step} {name}".strip(), wall, cpu, peak_mb())


def _profile(run: Callable[[], None], most: int = 10) -> list[tuple[str, float]]:
    """Run a step and return the functions of the package that took most CPU time.

    The time of libraries, on all their threads, counts for the function that called them. The
    time of an import counts for the ``<module>`` of the imported file.
    """
    here = str(Path(philly_analysis.__file__).parent)
    spent: defaultdict[str, float] = defaultdict(float)
    counted = time.process_time()

    def count(_signal: int, frame: FrameType | None) -> None:
        nonlocal counted
        while frame is not None and not frame.f_code.co_filename.startswith(here):
            frame = frame.f_back
        now = time.process_time()
        if frame is not None:
            code = frame.f_code
            spent[f"{Path(code.co_filename).relative_to(here)}:{code.co_name}"] += now - counted
        counted = now

    # the signal is handled after a long library call returns, and then counts all of it
    signal.signal(signal.SIGPROF, count)
    signal.siginterrupt(signal.SIGPROF, False)
    signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
    try:
        run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return sorted(spent.items(), key=itemgetter(1), reverse=True)[:most]


def main(step: str, raw: str, trace: str, *names: str) -> None:
    """Run a step in this process and print one line of JSON per name.

    Joins and analyses are measured warm: after the modules are imported and the SQL is read. The
    report is measured cold.
    """
    if step == "profile":
        [profiled_step] = names
        lines: list[Any] = _profile(lambda: STEPS[profiled_step](Path(raw), Path(trace), ""))
    else:
        gc.set_threshold(100_000)  # as the command line does
        if step in ("join", "analysis"):
            from philly_analysis.report.findings import ANALYSES
            from philly_analysis.trace.relations import relations

            relations()
            assert ANALYSES
        lines = [asdict(_run(step, Path(raw), Path(trace), name)) for name in names]
    sys.stdout.write("\n" + "".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
