"""Measure steps on 1, 2, 4 and all cores: speed-up and efficiency, drawn to reports/cores.svg.

``python -m tests.bench.cores`` generates the hard archive and pins each step to its cores, with
``taskset`` of Linux. Beside the steps that read the archive, it measures a sweep of simulations
and, where public traces are at hand ($PHILLY_TRACES or ../shared/traces), the atlas: both use as
many processes as cores.
"""

import argparse
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd

from philly_analysis.parallel import cores
from philly_analysis.results import figures
from tests.bench.bench import generated
from tests.bench.costs import Cost
from tests.bench.steps import measure

PUBLIC = Path(os.environ.get("PHILLY_TRACES", "../shared/traces"))


def measured(raw: Path, trace: Path, n: int) -> list[Cost]:
    """Run the steps on so many cores."""
    print(f"  {n} core{'s' * (n > 1)}", flush=True)
    shutil.rmtree(trace, ignore_errors=True)
    costs = []
    steps = dict.fromkeys(("scan", "ingest", "report", "sweep"), "")
    if PUBLIC.is_dir():
        steps["atlas"] = str(PUBLIC.resolve())
    for step, name in steps.items():
        [cost] = measure(step, raw, trace, [name], on=n)
        costs.append(replace(cost, step=step))
    return costs


def table(costs: dict[int, list[Cost]]) -> pd.DataFrame:
    """Return a row per step and number of cores.

    ``speed_up`` is the wall time on the fewest cores over that on these; ``efficiency`` is the
    speed-up over the ratio of the cores; ``cpu_ratio`` is the ratio of CPU seconds.
    """
    rows = pd.DataFrame(
        [
            {"step": cost.step, "cores": n, "wall_s": cost.wall_s, "cpu_s": cost.cpu_s}
            for n, some in costs.items()
            for cost in some
        ]
    )
    page = rows[rows["step"].isin(["ingest", "report"])].groupby("cores", as_index=False)
    both = page[["wall_s", "cpu_s"]].sum().assign(step="raw files to page")
    rows = pd.concat([rows, both], ignore_index=True)
    first = rows.sort_values("cores").groupby("step").transform("first")
    rows["speed_up"] = first["wall_s"] / rows["wall_s"]
    rows["efficiency"] = rows["speed_up"] * first["cores"] / rows["cores"]
    rows["cpu_ratio"] = rows["cpu_s"] / first["cpu_s"]
    scans = rows[rows["step"] == "scan"].set_index("cores")["wall_s"]
    rows["times_scan"] = rows["wall_s"] / rows["cores"].map(scans)
    return rows


def draw(rows: pd.DataFrame) -> str:
    """Draw speed-up and efficiency by number of cores, as SVG."""
    fig, axes = figures.canvas(2, width=9.5)
    for ax, column in zip(axes, ("speed_up", "efficiency"), strict=True):
        for (step, some), color in zip(
            rows.groupby("step", sort=False), figures.CYCLE, strict=False
        ):
            ax.plot(some["cores"], some[column], "o-", color=color, label=step)
        ax.set(xlabel="cores", xscale="log", ylabel=column.replace("_", "-"))
        ax.set_xticks(sorted(set(rows["cores"])), [str(n) for n in sorted(set(rows["cores"]))])
        ax.minorticks_off()
        ax.set_ylim(bottom=0)
    most = sorted(set(rows["cores"]))
    axes[0].plot(most, [n / most[0] for n in most], ":", color=figures.MUTED, label="ideal")
    axes[1].axhline(1, linestyle=":", color=figures.MUTED)
    figures.legend(axes[0], loc="upper left", frameon=False)
    return figures.svg(fig)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="1: the size of the public trace")
    parser.add_argument("--folder", type=Path, help="where to generate; default: $TMPDIR")
    parser.add_argument("--out", type=Path, default=Path("reports/cores.svg"))
    args = parser.parse_args()
    counts = sorted({n for n in (1, 2, 4, cores()) if n <= cores()})
    with generated(args.scale, hard=True, within=args.folder) as (raw, trace):
        print("measuring on " + ", ".join(map(str, counts)) + " cores", flush=True)
        rows = table({n: measured(raw, trace, n) for n in counts})
    print(rows.to_string(index=False, float_format="%.2f"))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(draw(rows), "utf-8")


if __name__ == "__main__":
    main()
