"""Measure each step at the size of the public Philly trace against a bare typed scan.

The benchmark generates two archives in turn outside the repository: a plain one, and one as hard
to read as the public trace. Each step runs in its own process:

- DuckDB's typed scan of the raw files;
- ingest, the first report on the new trace, and a second report;
- lower bounds, by libraries alone: hashing, converting, copying and counting the samples;
- separately, the joins of samples with attempts, a report that reuses them, and each analysis.

A profile of ingest and report on a small archive follows. All generated files are removed.
"""

import argparse
import compileall
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd

import philly_analysis
from philly_analysis.trace.integrity import CHECKED
from philly_analysis.trace.manifest import DERIVED, Manifest
from tests.bench.archive import write
from tests.bench.costs import AIMS, Cost, totals
from tests.bench.history import append, commit
from tests.bench.steps import measure, profile

ARCHIVES = ("plain", "hard")
PROFILE_SCALE = 0.01
"""Scale of the archive that is profiled."""


def bench(raw: Path, trace: Path, *, only: str) -> list[Cost]:
    """Run the steps in order."""
    from philly_analysis.report.findings import ANALYSES
    from philly_analysis.trace.relations import relations
    from philly_analysis.trace.trace import Trace

    def run(step: str, *names: str) -> list[Cost]:
        print(f"  {step}", flush=True)
        return measure(step, raw, trace, names or [""])

    costs = run("scan", "", "")[1:]  # the second run reads cached files
    costs += run("ingest")
    if only == "ingest":
        return costs
    for step in ("page", "later report"):
        costs += (replace(cost, step=step) for cost in run("report"))
    _forget(trace)
    costs += run("floor", "hash", "convert", "copy", "count")
    with Trace(trace) as opened:
        answerable = [n for n, a in ANALYSES.items() if opened.tables.issuperset(a.needs)]
    costs += run("join", *sorted({r.samples for r in relations().values() if r.samples}))
    return costs + run("report") + run("analysis", *answerable)


def _forget(trace: Path) -> None:
    """Remove the derived data of a trace, except for the record of verified files."""
    for derived in (trace / DERIVED).iterdir():
        if derived.name != CHECKED:
            shutil.rmtree(derived)


def show(kind: str, costs: list[Cost], raw: Path, trace: Path) -> None:
    """Print the steps and their sums, with ratios to the scan and limits of the ratios."""
    rows = _sample_rows(trace)
    sums = totals(costs)
    table = pd.DataFrame([*costs, *sums]).round({"peak_mb": 0})
    table["× scan"] = table["wall_s"] / costs[0].wall_s
    table["× scan CPU"] = table["cpu_s"] / costs[0].cpu_s
    table["limit"] = [""] * len(costs) + [f"{AIMS[total.step][1]:g}" for total in sums]
    table["M rows/s"] = rows / table["wall_s"] / 1e6
    print(
        f"{kind} archive: {rows:,} rows, {_gb(raw):.2f} GB raw, {_gb(trace):.2f} GB trace, "
        f"{os.cpu_count()} cores",
        table.to_string(index=False, float_format="%.2f"),
        sep="\n",
        flush=True,
    )


def _sample_rows(trace: Path) -> int:
    accounts = Manifest.read(trace).accounts
    return sum(a.read for a in accounts if a.table.endswith("_samples"))


def _gb(folder: Path) -> float:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e9


@contextmanager
def generated(scale: float, *, hard: bool, within: Path | None) -> Iterator[tuple[Path, Path]]:
    """Generate an archive; remove it and the trace made from it on exit."""
    folder = Path(tempfile.mkdtemp(prefix="philly-bench-", dir=within))
    try:
        write(folder / "raw", scale, hard=hard)
        yield folder / "raw", folder / "trace"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="1: the size of the public trace")
    parser.add_argument("--folder", type=Path, help="where to generate; default: $TMPDIR")
    parser.add_argument("--only", choices=["ingest"], default="", help="stop after this step")
    parser.add_argument("--archive", choices=ARCHIVES, action="append", help="default: each")
    parser.add_argument("--keep-history", action="store_true", help="append to history.csv")
    args = parser.parse_args()
    measured = commit()
    # as after an installation by pip
    compileall.compile_dir(Path(philly_analysis.__file__).parent, quiet=1)
    for kind in args.archive or ARCHIVES:
        print(f"measuring a {kind} archive, {args.scale:g} times the public trace", flush=True)
        with generated(args.scale, hard=kind == "hard", within=args.folder) as (raw, trace):
            costs = bench(raw, trace, only=args.only)
            show(kind, costs, raw, trace)
        if args.keep_history:
            append(measured, args.scale, kind, costs)
    small = min(args.scale, PROFILE_SCALE)
    with generated(small, hard=True, within=args.folder) as (raw, trace):
        for step in [args.only] if args.only else ["ingest", "report"]:
            profile(step, raw, trace)


if __name__ == "__main__":
    main()
