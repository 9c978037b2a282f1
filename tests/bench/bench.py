"""What each step costs at the size of the public Philly trace, beside a bare typed scan.

Generates an archive outside of the tree, and runs each step in a process of its own: DuckDB's
scan of the raw files, ingest, each stored relation (the joins of samples with attempts), the
report, the report once more, each analysis. Everything is removed at the end.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from tests.bench.archive import write

OUT = Console()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a step took: wall-clock and CPU seconds, and peak memory of its process."""

    step: str
    wall_s: float
    cpu_s: float
    peak_mb: float


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


def ingest(raw: Path, trace: Path, _name: str) -> None:
    """Make the trace."""
    from philly_analysis.ingest import ingest as run

    run("philly", raw, trace, force=True)


def relation(_raw: Path, trace: Path, name: str) -> None:
    """Write one stored relation."""
    from philly_analysis.trace import Trace

    with Trace(trace) as opened:
        opened.create([name])


def analysis(_raw: Path, trace: Path, name: str) -> None:
    """Compute one analysis."""
    from philly_analysis.chapters import analyze
    from philly_analysis.trace import Trace

    with Trace(trace) as opened:
        analyze(opened, [name])


def report(_raw: Path, trace: Path, _name: str) -> None:
    """Compute everything and write the page."""
    from philly_analysis.page import report as run

    run(trace, trace.parent / "reports")


STEPS: dict[str, Callable[[Path, Path, str], None]] = {
    "scan": scan,
    "ingest": ingest,
    "relation": relation,
    "analysis": analysis,
    "report": report,
}


def measure(step: str, raw: Path, trace: Path, name: str = "") -> Cost:
    """Run a step in a process of its own; its time leaves out the start of the interpreter."""
    module = [sys.executable, "-m", "tests.bench.bench"]
    command = [*module, "--step", step, str(raw), str(trace), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{step} {name} failed")
    took = json.loads(said.splitlines()[-1])
    return Cost(f"{step} {name}".strip(), took["wall_s"], took["cpu_s"], usage.ru_maxrss / 1024)


def run_step(step: str, raw: Path, trace: Path, name: str) -> None:
    """Run a step in this process and say what it took.

    Relations and analyses are measured warm: the rooms open and the SQL read. The report, which
    pays for that once whatever it computes, is measured cold.
    """
    if step in ("relation", "analysis"):
        from philly_analysis.chapters import ANALYSES
        from philly_analysis.relations import relations

        relations()
        assert ANALYSES
    wall, cpu = time.perf_counter(), time.process_time()
    STEPS[step](raw, trace, name)
    took = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    sys.stdout.write("\n" + json.dumps(took) + "\n")


def bench(raw: Path, trace: Path, *, only: str) -> list[Cost]:
    """Run the steps in order."""
    from philly_analysis.chapters import ANALYSES
    from philly_analysis.relations import needed, relations
    from philly_analysis.trace import Trace

    costs: list[Cost] = []

    def add(step: str, name: str = "") -> None:
        costs.append(measure(step, raw, trace, name))
        cost = costs[-1]
        OUT.print(f"  {cost.step:40} {cost.wall_s:8.1f} s {cost.peak_mb:8.0f} MB", highlight=False)

    measure("scan", raw, trace)  # the files are in the page cache from here on
    add("scan")
    add("ingest")
    if only == "ingest":
        return costs
    with Trace(trace) as opened:
        order, _ = needed(n for n in relations() if opened.has(n))
        stored = [r.name for r in order if r.stored]
        answerable = [n for n, a in ANALYSES.items() if opened.tables.issuperset(a.NEEDS)]
    for name in stored:
        add("relation", name)
    add("report")
    add("report", "again")
    for name in answerable:
        add("analysis", name)
    return costs


def show(costs: list[Cost], raw: Path, trace: Path) -> None:
    """Print the table, the sum from raw files to the report, and its ratio to the scan."""
    base = costs[0].wall_s
    table = Table(title=f"{_gb(raw):.2f} GB raw, {_gb(trace):.2f} GB trace, {os.cpu_count()} cores")
    for heading in ("step", "wall s", "CPU s", "times the scan", "peak MB"):
        table.add_column(heading, justify="left" if heading == "step" else "right")

    def row(step: str, wall_s: float, cpu_s: float, peak_mb: float) -> None:
        table.add_row(
            step, f"{wall_s:.1f}", f"{cpu_s:.1f}", f"{wall_s / base:.2f}", f"{peak_mb:.0f}"
        )

    for cost in costs:
        row(cost.step, cost.wall_s, cost.cpu_s, cost.peak_mb)
    parts = [c for c in costs if c.step in ("ingest", "report") or c.step.startswith("relation")]
    table.add_section()
    row(
        "raw files to report",
        sum(c.wall_s for c in parts),
        sum(c.cpu_s for c in parts),
        max(c.peak_mb for c in parts),
    )
    OUT.print(table)


def _gb(folder: Path) -> float:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e9


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the public trace's size")
    parser.add_argument("--folder", type=Path, help="where to generate; default: $TMPDIR")
    parser.add_argument("--keep", action="store_true", help="keep what was generated")
    parser.add_argument("--only", choices=["ingest"], default="", help="stop after this step")
    parser.add_argument("--step", nargs=4, metavar=("STEP", "RAW", "TRACE", "NAME"))
    given = parser.parse_args()
    if given.step:
        step, raw, trace, name = given.step
        run_step(step, Path(raw), Path(trace), name)
        return
    folder = Path(tempfile.mkdtemp(prefix="philly-bench-", dir=given.folder))
    try:
        started = time.perf_counter()
        OUT.print(f"generating {given.scale:g} times the public trace in {folder}")
        write(folder / "raw", given.scale)
        OUT.print(f"  generated in {time.perf_counter() - started:.0f} s", highlight=False)
        show(
            bench(folder / "raw", folder / "trace", only=given.only),
            folder / "raw",
            folder / "trace",
        )
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
