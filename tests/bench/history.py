"""Record the benchmark's costs by commit in ``history.csv``; draw them to reports/bench.svg."""

import argparse
import os
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from philly_analysis.results import figures
from tests.bench.costs import AIMS, Cost, totals

HISTORY = Path(__file__).with_name("history.csv")
DRAWN = (*AIMS, "later report")


def append(
    commit: str, scale: float, archive: str, costs: list[Cost], path: Path = HISTORY
) -> None:
    """Append one line per step, and one per sum that is not itself a step."""
    run = {
        "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
        "commit": commit,
        "cores": os.cpu_count(),
        "scale": scale,
        "archive": archive,
    }
    rows = [
        {**run, **asdict(cost), "times_scan": cost.wall_s / costs[0].wall_s}
        for cost in (*costs, *totals(costs))
    ]
    pd.DataFrame(rows).drop_duplicates("step").astype({"peak_mb": int}).to_csv(
        path, mode="a", header=not path.exists(), index=False, float_format="%.3f"
    )


def draw(history: pd.DataFrame) -> str:
    """Draw the sums of all runs with the scale and cores of the last one, as SVG."""
    last = history.iloc[-1]
    like = history[(history["scale"] == last["scale"]) & (history["cores"] == last["cores"])]
    fig, axes = figures.canvas(like["archive"].nunique(), width=9.5, sharey=True)
    for ax, (archive, runs) in zip(axes, like.groupby("archive", sort=False), strict=True):
        times = runs.pivot_table(
            index=["date", "commit"], columns="step", values="times_scan", sort=False
        )
        for name, color in zip(DRAWN, figures.CYCLE, strict=False):
            if name not in times:
                continue
            label = name
            if name in AIMS:
                aim = AIMS[name][1]
                ax.axhline(aim, color=color, linewidth=0.8, linestyle=":")
                label = f"{name} (limit {aim:g})"
            ax.plot(range(len(times)), times[name], "o-", color=color, label=label)
        ax.set_xticks(range(len(times)), [str(at) for _, at in times.index], rotation=90)
        ax.set(title=f"{archive} archive", xlabel="commit", yscale="log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes[0].set_ylabel("times a bare typed scan")
    figures.legend(axes[-1], loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figures.svg(fig)


def commit() -> str:
    """Return the commit, with a + if files differ from it; ``unknown`` outside of git."""

    def git(*command: str) -> str:
        return subprocess.run(
            ["git", *command], cwd=HISTORY.parent, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", ":/", f":!{HISTORY}")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


def main() -> None:
    """Parse the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", type=Path, default=HISTORY)
    parser.add_argument("--out", type=Path, default=Path("reports/bench.svg"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(draw(pd.read_csv(args.history, dtype={"commit": str})), "utf-8")


if __name__ == "__main__":
    main()
