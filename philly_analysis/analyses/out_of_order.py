"""Starts that overtook an earlier arrival, and whether they did it harm (ATC'19, section 3.1).

An overtaking is told from starts and arrivals alone. The overtaken attempt is judged by room, not
by quota, so that some which could have fitted were kept back by a quota that the log does not
have.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside
from philly_analysis.results import Fact, Result, count, figures, gpus, share, slug
from philly_analysis.study import GANGS
from philly_analysis.trace import Trace

QUESTION = "How often does a job overtake an earlier one, and could that one have used its GPUs?"
NEEDS = ("jobs", "attempts")


def compute(trace: Trace) -> Result:
    """Count overtaking starts, and those whose GPUs gave the overtaken attempt no room."""
    table = trace.answer("out_of_order").df()
    starts, overtook = int(table["starts"].sum()), int(table["overtook"].sum())
    facts = [
        Fact("starts", starts, "starts that ended a trusted wait"),
        Fact(
            "out_of_order_pct",
            100 * overtook / starts if starts else None,
            "of these, starts while an earlier arrival of the virtual cluster waited on",
        ),
    ]
    said = []
    if starts:
        said.append(
            f"{share(overtook / starts)} of {count(starts, 'start')} overtook an attempt that had "
            "arrived earlier in the same virtual cluster."
        )
    caveats = [
        "An attempt arrives at its submission, or when the attempt before it ended; the log shows "
        "starts, not the scheduler's other decisions. Who waits for other machines is not "
        "overtaken.",
    ]
    if {"placements", "machines"} <= trace.tables:
        met = trace.answer("out_of_order_room").df().set_index("gang")
        n, without = int(met["overtakings"].sum()), int(met["harmless"].sum())
        pct = 100 * met["harmless"] / met["overtakings"]
        facts += [
            Fact(
                "harmless_pct",
                100 * without / n if n else None,
                "overtakings with GPUs that the overtaken attempt could not use",
            ),
            *(
                Fact(f"harmless_{slug(gang)}_pct", pct.get(gang), f"the same, {gpus(gang)} waiting")
                for gang in GANGS
            ),
        ]
        if n:
            said.append(
                f"In {share(without / n)} of the overtakings the GPUs then free, those of the "
                "start included, gave the overtaken gang no room on its fewest machines."
            )
        caveats.append(
            "Of several overtaken attempts the one that arrived first is judged, by room alone: "
            "its virtual cluster's quota might have kept it waiting as well."
        )
    else:
        caveats.append("Without placements it is not known who could have used which GPUs.")
    return Result(
        name="out_of_order",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=tuple(caveats),
        comparisons=beside(trace, "out_of_order", facts),
    )


def plot(result: Result) -> Figure:
    """Draw the share of overtaking starts per gang bucket, and per virtual cluster."""
    table = result.table
    fig, [left, right] = figures.canvas(2, height=3.0)
    if table.empty:
        return figures.empty(fig, "no start ended a trusted wait")
    sums = table.groupby("gang")[["starts", "overtook"]].sum()
    gangs = figures.ordered(sums.index, GANGS)
    pct = 100 * sums["overtook"] / sums["starts"]
    drawn = left.bar(
        [f"{g}\nn={sums['starts'][g]:,}" for g in gangs],
        pct[gangs],
        width=0.7,
        color=[figures.GANG_COLORS[g] for g in gangs],
    )
    left.bar_label(drawn, fmt="%.1f", fontsize=8)
    left.set(ylabel="starts that overtook (%)", xlabel="GPUs of the attempt that starts")
    left.grid(visible=False, axis="x")
    vcs = table.groupby("vc")[["starts", "overtook"]].sum().nlargest(10, "starts")[::-1]
    drawn = right.barh(
        [f"{figures.plain(vc)}  n={n:,}" for vc, n in vcs["starts"].items()],
        100 * vcs["overtook"] / vcs["starts"],
        color=figures.ACCENT,
    )
    right.bar_label(drawn, fmt="%.1f", fontsize=8, padding=2)
    right.set_xlabel("starts that overtook (%), by VC")
    right.margins(x=0.12)
    right.grid(visible=False, axis="y")
    return fig
