"""Draw failure rates by cause, and the training time ratio by gang size."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from philly_analysis.analyses.shared.ended_runs import ENDS
from philly_analysis.results import figures


def draw_causes(ax: Axes, causes: pd.DataFrame, part: str) -> None:
    """Draw the failure rate of each cause with its interval, per 1,000 days of a part."""
    rows = causes.iloc[::-1]
    middle = rows["per_1000_part_days"].to_numpy(float)
    low, high = (rows[f"per_1000_part_days{end}"].to_numpy(float) for end in ENDS[1:])
    y = np.arange(len(rows))
    ax.hlines(y, low, high, color=figures.ACCENT, lw=1.5)
    seen = rows["failures"].to_numpy(int) > 0
    ax.plot(middle[seen], y[seen], "o", color=figures.ACCENT, ms=5)
    names = [
        f"all {tier}" if cause == "all" else cause
        for tier, cause in zip(rows["tier"], rows["cause"], strict=True)
    ]
    labels = [
        f"{name} ({n:,})" for name, n in zip(names, rows["failures"].astype(int), strict=True)
    ]
    ax.set_yticks(y, labels, fontsize=8)
    ax.set_ylim(-0.6, max(len(rows), 4) - 0.4)
    ax.set_xlim(0, 1.05 * float(np.nanmax(high)))
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"failures per 1,000 {part}-days, with 95 % interval")
    figures.title(ax, "failures that ended runs, by cause (number)")


def draw_ratios(ax: Axes, gangs: pd.DataFrame) -> None:
    """Draw the effective training time ratio by gang size, with its interval."""
    gpus = gangs["gpus"].to_numpy(float)
    ends = (100 * gangs["ratio_low"].to_numpy(float), 100 * gangs["ratio_high"].to_numpy(float))
    ax.fill_between(gpus, *ends, color=figures.ACCENT, alpha=0.15)
    ax.plot(gpus, 100 * gangs["ratio"], color=figures.ACCENT, label="assumed interval")
    ax.plot(gpus, 100 * gangs["ratio_with_wait"], "o", color=figures.CYCLE[1],
            label="and median recorded wait", ms=4)  # fmt: skip
    ax.plot(gpus, 100 * gangs["optimum_ratio"], "--", color=figures.CYCLE[2], label="best interval")
    ax.set_xscale("log", base=2)
    ax.set_xticks(gpus, [f"{g:,.0f}" if i % 2 == 0 else "" for i, g in enumerate(gpus)], fontsize=8)
    ax.set_ylim(0, 100)
    ax.set(xlabel="GPUs of the gang", ylabel="% of the run's time")
    if gangs["ratio"].notna().any():
        figures.legend(ax, loc="lower left")
    figures.title(ax, "expected effective training time")
