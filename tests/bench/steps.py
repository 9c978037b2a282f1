"""The steps, and what each takes in a process of its own.

``python -m tests.bench.steps STEP RAW TRACE NAME…`` is how :func:`measure` starts one.
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
from philly_analysis.ingest.loading import input_of
from philly_analysis.trace.schema import TABLES
from tests.bench.costs import Cost


def scan(raw: Path, _trace: Path, _name: str) -> None:
    """Parse every field of the raw files with its type, and keep nothing."""
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
    """Do, as a library does it by itself, what is to be done beside parsing the raw files.

    ``hash``: each of them once; ``copy``: read the samples of the trace once, and write them.
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
    """Make the trace."""
    from philly_analysis.ingest import ingest as run

    run("philly", raw, trace, force=True)


def join(_raw: Path, trace: Path, samples: str) -> None:
    """Read the samples for all the relations that a page rests on."""
    from philly_analysis.report.chapters import SAMPLED
    from philly_analysis.trace.relations import relations
    from philly_analysis.trace.trace import Trace

    with Trace(trace) as opened:
        opened.create(name for name in SAMPLED if relations()[name].samples == samples)


def analysis(_raw: Path, trace: Path, name: str) -> None:
    """Compute one analysis, whether or not it was kept."""
    from philly_analysis.report.chapters import ANALYSES
    from philly_analysis.trace.trace import Trace

    with Trace(trace) as opened:
        ANALYSES[name].compute(opened)


def report(_raw: Path, trace: Path, _name: str) -> None:
    """Compute what is not kept, and write the page, as the command line does."""
    from philly_analysis.cli.app import app

    app(["report", str(trace), "--out", str(trace.parent / "reports")], standalone_mode=False)


STEPS: dict[str, Callable[[Path, Path, str], None]] = {
    step.__name__: step for step in (scan, floor, ingest, join, analysis, report)
}


def measure(step: str, raw: Path, trace: Path, names: Iterable[str] = ("",)) -> list[Cost]:
    """Run a step for each name, all in one new process whose start is not counted."""
    return [Cost(**cost) for cost in _beside(step, raw, trace, names)]


def profiled(step: str, raw: Path, trace: Path) -> list[tuple[str, float]]:
    """Run a step, and return where its CPU seconds go, as :func:`_spent` does."""
    return [(name, cpu_s) for name, cpu_s in _beside("profile", raw, trace, [step])]


def cpu_s() -> float:
    """CPU seconds of this process so far, with those of ended processes that it started."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _beside(step: str, raw: Path, trace: Path, names: Iterable[str]) -> list[Any]:
    command = [sys.executable, "-m", "tests.bench.steps", step, str(raw), str(trace), *names]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith(("{", "["))]


def forget_peak() -> None:
    """Let :func:`peak_mb` count from here, where the system can."""
    refs = Path("/proc/self/clear_refs")
    if refs.exists():
        refs.write_text("5")


def peak_mb() -> float:
    """Peak memory of this process, or of the largest ended one that it started."""
    largest_kb = getrusage(RUSAGE_CHILDREN).ru_maxrss
    status = Path("/proc/self/status")
    if not status.exists():
        return max(largest_kb, getrusage(RUSAGE_SELF).ru_maxrss) / 1024
    [own] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return max(largest_kb, int(own.split()[1])) / 1024


def _run(step: str, raw: Path, trace: Path, name: str) -> Cost:
    forget_peak()
    wall, cpu = time.perf_counter(), cpu_s()
    STEPS[step](raw, trace, name)
    wall, cpu = time.perf_counter() - wall, cpu_s() - cpu
    return Cost(f"{step} {name}".strip(), wall, cpu, peak_mb())


def _spent(run: Callable[[], None], most: int = 10) -> list[tuple[str, float]]:
    """Run a step, and return the functions of the package that took most CPU seconds.

    What libraries take, on all their threads, counts for the function that called them, and what
    importing a module takes, for its ``<module>``.
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

    # during a long call of a library this waits for its end, and then counts all of it
    signal.signal(signal.SIGPROF, count)
    signal.siginterrupt(signal.SIGPROF, False)
    signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
    try:
        run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return sorted(spent.items(), key=itemgetter(1), reverse=True)[:most]


def main(step: str, raw: str, trace: str, *names: str) -> None:
    """Run a step in this process, and print a line of JSON for each name.

    Relations and analyses are measured warm: the rooms open and the SQL read. The report, which
    pays for that once whatever it computes, is measured cold.
    """
    if step == "profile":
        [profiled_step] = names
        said: list[Any] = _spent(lambda: STEPS[profiled_step](Path(raw), Path(trace), ""))
    else:
        gc.set_threshold(100_000)  # as the command line does
        if step in ("join", "analysis"):
            from philly_analysis.report.chapters import ANALYSES
            from philly_analysis.trace.relations import relations

            relations()
            assert ANALYSES
        said = [asdict(_run(step, Path(raw), Path(trace), name)) for name in names]
    sys.stdout.write("\n" + "".join(json.dumps(line) + "\n" for line in said))


if __name__ == "__main__":
    main(*sys.argv[1:])
