"""Servers used against delay for large gangs: what waiting less costs in locality (Figure 4).

Gangs that wait longer are spread wider because locality is given up with time, and both may come
from a full cluster. It shows what was given up, not what waiting longer would have gained.
"""

from collections.abc import Iterable

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from philly_analysis.results import (
    Fact,
    Result,
    count,
    duration,
    figures,
    gpus,
    rank_association,
    share,
    slug,
)
from philly_analysis.study import GANGS, LARGE_GANGS, LARGE_GPUS
from philly_analysis.trace import Trace

QUESTION = "Do large gangs that spread over more servers wait less?"
NEEDS = ("jobs", "attempts", "placements", "machines")


def compute(trace: Trace) -> Result:
    """Compare waits by distinct servers used, for first attempts of large gangs."""
    table = trace.answer("locality_relaxation").df()
    large = trace.answer("large_waits").df()
    waits = large[large["servers"].notna()]
    unplaced = len(large) - len(waits)
    facts = [Fact("attempts", len(waits), f"first attempts on {LARGE_GPUS} GPUs or more")]
    said = []
    for gang in _gangs(waits["gang"]):
        rows = waits[waits["gang"] == gang]
        spread = rows["spread"].astype(bool)
        # within one gang size, or a larger gang would pass for a wider spread
        rank = rows.groupby("gpus")["wait_s"].rank(pct=True)
        trend = rank_association(rows["stretch"], rank, rows["user"])
        wide, tight = rows.loc[spread, "wait_s"].median(), rows.loc[~spread, "wait_s"].median()
        facts += [
            Fact(
                f"spread_{slug(gang)}_pct",
                100 * spread.mean() if len(rows) else None,
                f"on more servers than needed, {gpus(gang)}",
            ),
            Fact(f"median_wait_spread_{slug(gang)}_s", wide, "their median wait"),
            Fact(f"median_wait_tight_{slug(gang)}_s", tight, "median wait of the others"),
            *trend.facts(
                f"spread_{slug(gang)}",
                f"servers over fewest servers and wait, within each gang size, {gpus(gang)}",
            ),
        ]
        if len(rows) and spread.any() and not spread.all():
            said += [
                f"Of {count(len(rows), 'first attempt')} on {gpus(gang)}, "
                f"{share(float(spread.mean()))} ran on more servers than needed; their median wait "
                f"is {duration(float(wide))}, that of the others {duration(float(tight))}.",
                trend.say(
                    rises=f"On {gpus(gang)}, wider spread goes with longer waits: locality is "
                    "given up late",
                    falls=f"On {gpus(gang)}, wider spread goes with shorter waits",
                    unclear=f"On {gpus(gang)}, spread and wait are not clearly related",
                ),
            ]
    return Result(
        name="locality_relaxation",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "Servers are the attempt's distinct machines; the fewest are those that its GPUs need "
            "on the largest machines that may serve it.",
            *([f"{count(unplaced, 'attempt')} without placements left out."] if unplaced else []),
        ),
    )


def _gangs(present: Iterable[str]) -> list[str]:
    """Return the buckets of large gangs, and any other that holds one."""
    return figures.ordered({*LARGE_GANGS, *present}, GANGS)


def plot(result: Result) -> Figure:
    """Draw the wait (median, and from 10 to 90 %) against the servers used, per gang bucket."""
    table = result.table[result.table["wait_p50_s"].notna()]
    if table.empty:
        why = f"no wait of a placed attempt on {LARGE_GPUS} GPUs or more"
        return figures.empty(figures.canvas()[0], why)
    gangs = figures.ordered(table["gang"], GANGS)
    height = max(3.0, 1 + 0.19 * int(table["gang"].value_counts().max()))
    fig, axes = figures.canvas(len(gangs), width=3.6 * len(gangs), height=height, sharex=True)
    for ax, gang in zip(axes, gangs, strict=True):
        rows = table[table["gang"] == gang].reset_index(drop=True)
        color = figures.GANG_COLORS[gang]
        low, mid, high = (
            rows[f"wait_{p}_s"].clip(lower=1).to_numpy() for p in ("p10", "p50", "p90")
        )
        ax.hlines(rows.index, low, high, color=color, alpha=0.45, linewidth=3)
        ax.plot(mid, rows.index, "o", color=color)
        ax.set_yticks(
            rows.index,
            [f"{s}   n={n:,}" for s, n in zip(rows["servers"], rows["attempts"], strict=True)],
        )
        ax.margins(y=0.1)
        figures.time_axis(ax)
        ax.xaxis.set_major_locator(FixedLocator([1, 60, 3_600, 86_400, 2_592_000]))
        ax.set_xlabel("wait (dot: median; line: 10-90 %)")
        figures.title(ax, gpus(gang))
    axes[0].set_ylabel("servers")
    return fig
