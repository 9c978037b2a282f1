"""Draw and tabulate measured results: those in ``measured/`` and the benchmark's history."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import figures
from tests.bench.history import HISTORY

FOLDER = Path(__file__).with_name("measured")
_VERDICTS = {
    "": ("the papers' generator", figures.MUTED),
    "survives": ("survives", figures.CYCLE[2]),
    "larger": ("larger", figures.CYCLE[0]),
    "shrinks": ("shrinks", figures.CYCLE[1]),
    "cannot be said": ("cannot be said", figures.CYCLE[7]),
}
"""Label and colour of each verdict; empty: none."""

_STEPS = {
    "scan": "DuckDB's typed scan of the same files",
    "ingest": "ingest, including checksums",
    "page": "first report, including all joins of samples with attempts",
    "raw files to page": "**raw files to report**",
    "joins": "the joins alone, stored once",
    "report": "a report with stored joins",
    "later report": "every later report",
}
"""Steps of the benchmark in the table of costs."""


def held_out() -> Figure:
    """Draw the share of distances within their limit, by the part that was held out."""
    table = pd.read_csv(FOLDER / "held-out.csv", index_col=0)
    shares = 100 * table.drop(columns="distances").div(table["distances"], axis=0)
    return _dots(shares, "distances within their limit")


def coverage() -> Figure:
    """Draw the coverage of 90 % intervals for the next window, by method."""
    table = pd.read_csv(FOLDER / "coverage.csv", index_col=0)
    shares = table.drop(columns="Winkler score of run time")
    percent = shares.apply(lambda column: column.str.removesuffix(" %").astype(float))
    fig = _dots(percent.T, "pairs whose second window is in the interval")
    fig.axes[0].axvline(90, color=figures.INK, lw=0.9, ls=":")
    return fig


def forecasts() -> Figure:
    """Draw the coverage of forecast intervals by log and gang class, beside what they state."""
    table = pd.read_csv(FOLDER / "forecasts.csv").query("gang != 'all'").iloc[::-1]
    fig, [ax] = figures.canvas(height=0.24 * len(table) + 1)
    for level, color in ((50, figures.CYCLE[1]), (90, figures.ACCENT)):
        ax.axvspan(level - 5, level + 5, color=color, alpha=0.12)
        ax.plot(table[f"covered_{level}_pct"], range(len(table)), "o", color=color,
                label=f"{level} % intervals")  # fmt: skip
    labels = [f"{row.trace}: {row.gang} GPUs" for row in table.itertuples()]
    ax.set_yticks(range(len(table)), labels, fontsize=8)
    figures.percent_axis(ax, "waits inside the interval", axis="x")
    figures.legend(ax)
    return fig


def conclusions() -> Figure:
    """Draw published factors of improvement by source of jobs, coloured by verdict."""
    table = pd.read_csv(FOLDER / "conclusions.csv", keep_default_na=False)
    fig, [ax] = figures.canvas(width=9, height=6)
    at, ticks = 0.0, {}
    for comparison, rows in table.groupby("comparison", sort=False):
        ticks[at] = str(comparison)
        for row in rows.to_dict("records"):
            at -= 1
            ticks[at] = str(row["jobs"])
            color = _VERDICTS[row["verdict"]][1]
            ax.hlines(at, row["low"], row["high"], color=color, lw=2)
            ax.plot(row["factor"], at, "o", color=color, ms=5)
            ax.annotate(
                f"{row['factor']:.3g}",
                (row["high"], at),
                (5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        at -= 1.6
    ax.axvline(1, color=figures.INK, lw=0.9)
    ax.set(xscale="log", xlabel="times better than without it (1: no gain)", xlim=(0.9, 26))
    ax.set_xticks([1, 1.5, 2, 3, 5, 10, 20], ["1", "1.5", "2", "3", "5", "10", "20"])
    ax.minorticks_off()
    ax.set_ylim(at + 1, 1)
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=8)
    for label in ax.get_yticklabels():
        if label.get_text() in set(table["comparison"]):
            label.set_fontweight("bold")
    for name, color in _VERDICTS.values():
        ax.plot([], [], "o-", color=color, label=name)
    figures.legend(ax, loc="upper right")
    return fig


def switch() -> Figure:
    """Draw predicted and realised gains of backfilling, for the clusters with a card."""
    table = pd.read_csv(FOLDER / "advice-switch.csv").query("card").iloc[::-1]
    fig, [ax] = figures.canvas(width=7.2, height=3)
    rows = range(len(table))
    ax.hlines(rows, table["low"], table["high"], color=figures.MUTED, lw=3)
    ax.plot(table["predicted"], rows, "o", color=figures.ACCENT, label="predicted", ms=6)
    ax.plot(table["realised"], rows, "D", color=figures.CYCLE[1], label="realised", ms=5)
    ax.axvline(0, color=figures.INK, lw=0.9)
    ax.set_xscale("symlog", linthresh=1_000)
    ticks = (-10_000, -1_000, 0, 1_000, 10_000)
    ax.set_xticks(ticks, [f"{tick:,}".replace("-", "−") for tick in ticks])
    ax.set_xlabel("hours of waiting saved in a month")
    ax.set_yticks(rows, [f"load {load:g}" for load in table["load"]])
    figures.legend(ax, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def stated_reasons() -> Figure:
    """Draw the shares of waiting time by the reason that Slurm states, coloured by cause."""
    table = pd.read_csv(FOLDER / "slurm-lab.csv", keep_default_na=False)
    table = table[table["% of waiting time"] >= 0.5]  # a smaller bar cannot be seen
    fig, [ax] = figures.canvas(width=8, height=4.2)
    for (cause, rows), color in zip(
        table.groupby("cause", sort=False), figures.CYCLE, strict=False
    ):
        ax.barh(rows.index, rows["% of waiting time"], color=color, label=str(cause))
    ax.set_yticks(range(len(table)), list(table["reason in squeue"]), fontsize=8)
    ax.invert_yaxis()
    figures.percent_axis(ax, "waiting time", axis="x")
    figures.legend(ax, loc="lower right")
    return fig


def costs() -> Iterator[str]:
    """Yield tables in Markdown of the last full-size runs in the benchmark's history."""
    history = pd.read_csv(HISTORY, dtype={"commit": str})
    full = history[history["scale"] == 1]
    for archive, runs in full.groupby("archive", sort=False):
        last = runs[runs["date"] == runs["date"].max()].set_index("step")
        run = last.iloc[0]
        yield f"The {archive} archive, {run['cores']} cores, {run['date'][:10]},"
        yield f"commit {run['commit']} (`make bench`):\n"
        steps = [step for step in _STEPS if step in last.index]
        rows = last.loc[steps, ["wall_s", "cpu_s", "times_scan", "peak_mb"]]
        yield from (
            *("", "| step | wall (s) | CPU (s) | scans | memory (GB) |"),
            "| --- | ---: | ---: | ---: | ---: |",
            *(
                f"| {_STEPS[step]} | {wall:.3g} | {cpu:.3g} | {times:.2f} | {mb / 1000:.1f} |"
                for step, (wall, cpu, times, mb) in zip(steps, rows.to_numpy(), strict=True)
            ),
            "",
        )


def _dots(table: pd.DataFrame, label: str) -> Figure:
    """Draw a row per row of a table of percentages, and a colour per column."""
    fig, [ax] = figures.canvas(width=8, height=3.4)
    for (name, values), color in zip(table.items(), figures.CYCLE, strict=False):
        ax.plot(values, range(len(table)), "o", color=color, label=str(name), ms=6)
    ax.set_yticks(range(len(table)), list(table.index))
    ax.invert_yaxis()
    figures.percent_axis(ax, label, axis="x")
    figures.legend(ax, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig
