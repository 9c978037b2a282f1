"""Relate waits to the number of servers of large gangs: locality relaxation (ATC'19, Figure 4).

Schedulers relax locality after a wait, and a full cluster causes both long waits and spread. The
relation does not show what longer waits would have gained.
"""

from matplotlib.figure import Figure

from philly_analysis.results import (
    Fact,
    Result,
    count,
    count_note,
    duration,
    figures,
    gang_label,
    rank_association,
    share,
    slug,
)
from philly_analysis.study import GANGS, LARGE_GANGS, LARGE_GPUS
from philly_analysis.trace import Analysis, Trace


def compute(trace: Trace) -> Result:
    """Compare waits by distinct servers, for first attempts of large gangs."""
    table = trace.answer("locality_relaxation").df()
    large = trace.answer("large_waits").df()
    waits = large[large["servers"].notna()]
    facts = [Fact("attempts", len(waits), f"first attempts of at least {LARGE_GPUS} GPUs")]
    sentences = []
    for gang in figures.ordered({*LARGE_GANGS, *waits["gang"]}, GANGS):
        name, gpus = slug(gang), gang_label(gang)
        rows = waits[waits["gang"] == gang]
        spread = rows["spread"].astype(bool)
        # ranks within each gang size: larger gangs have more servers and other waits
        rank = rows.groupby("gpus")["wait_s"].rank(pct=True)
        trend = rank_association(rows["stretch"], rank, rows["user"])
        wide, tight = rows.loc[spread, "wait_s"].median(), rows.loc[~spread, "wait_s"].median()
        spread_pct = 100 * spread.mean() if len(rows) else None
        facts += [
            Fact(
                f"spread_{name}_pct",
                spread_pct,
                f"share of first attempts on more servers than needed, {gpus}",
            ),
            Fact(
                f"median_wait_spread_{name}_s",
                wide,
                f"median wait of first attempts on more servers than needed, {gpus}",
            ),
            Fact(
                f"median_wait_tight_{name}_s",
                tight,
                f"median wait of first attempts on the fewest servers, {gpus}",
            ),
            *trend.facts(
                f"spread_{name}",
                f"servers over minimum servers and wait, within each gang size, {gpus}",
            ),
        ]
        if len(rows) and spread.any() and not spread.all():
            sentences += [
                f"{share(float(spread.mean()))} of {count(len(rows), 'first attempt')} on {gpus} "
                f"ran on more servers than needed. The median wait is {duration(float(wide))} on "
                f"more servers than needed, and {duration(float(tight))} on the fewest servers.",
                trend.sentence(
                    rises=f"On {gpus}, wider spread goes with longer waits",
                    falls=f"On {gpus}, wider spread goes with shorter waits",
                    unclear=f"On {gpus}, spread and wait have no clear relation",
                ),
            ]
    caveats = (
        "Servers are the attempt's distinct machines. The fewest servers are computed for the "
        "largest machines of the job's pool, if all were empty.",
        count_note(len(large) - len(waits), "attempt", " without placements excluded."),
    )
    return Result("locality_relaxation", table, facts, sentences, caveats)


def plot(result: Result) -> Figure:
    """Draw the median wait and its 10-90 % range by number of servers, per gang bucket."""
    table = result.table[result.table["wait_p50_s"].notna()]
    if table.empty:
        why = f"no wait of a placed attempt on at least {LARGE_GPUS} GPUs"
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
        names = [f"{s}   n={n:,}" for s, n in zip(rows["servers"], rows["attempts"], strict=True)]
        ax.set_yticks(rows.index, names)
        ax.margins(y=0.1)
        figures.time_axis(ax)
        ax.set_xlabel("wait (dot: median; line: 10-90 %)")
        figures.title(ax, gang_label(gang))
    axes[0].set_ylabel("servers")
    return fig


ANALYSIS = Analysis(
    name="locality_relaxation",
    question="Do large gangs that spread over more servers wait less?",
    needs=("jobs", "attempts", "placements", "machines"),
    compute=compute,
    plot=plot,
)
