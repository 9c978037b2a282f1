"""Report out-of-order starts, and whether overtaken gangs could have run (ATC'19, section 3.1).

Overtaking is derived from starts and arrivals alone. Whether the overtaken attempt could have been
placed is derived from free GPUs; an unrecorded quota may have delayed the overtaken attempt.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.results import Fact, Result, count, figures, gang_label, share, slug
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace


def compute(trace: Trace) -> Result:
    """Count out-of-order starts, and starts with GPUs that the overtaken attempt could not use."""
    table = trace.answer("out_of_order").df()
    starts, overtook = int(table["starts"].sum()), int(table["overtook"].sum())
    overtook_pct = 100 * overtook / starts if starts else None
    meaning = "starts while an earlier arrival of the virtual cluster was waiting"
    facts = [
        Fact("starts", starts, "starts after a trusted wait"),
        Fact("out_of_order_pct", overtook_pct, meaning),
    ]
    sentences = []
    if starts:
        sentences.append(
            f"{share(overtook / starts)} of {count(starts, 'start')} overtook an attempt that had "
            "arrived earlier in the same virtual cluster."
        )
    placed = {"placements", "machines"} <= trace.tables
    if placed:
        met = trace.answer("out_of_order_overtaken").df().set_index("gang")
        n, unplaceable = int(met["overtakings"].sum()), int(met["harmless"].sum())
        pct = 100 * met["harmless"] / met["overtakings"]
        meaning = "out-of-order starts whose GPUs the overtaken attempt could not have used"
        facts.append(Fact("harmless_pct", 100 * unplaceable / n if n else None, meaning))
        for gang in GANGS:
            same = f"{meaning}, {gang_label(gang)} waiting"
            facts.append(Fact(f"harmless_{slug(gang)}_pct", pct.get(gang), same))
        if n:
            sentences.append(
                f"In {share(unplaceable / n)} of out-of-order starts the overtaken gang could not "
                "have been placed on its minimum number of servers."
            )
    on_placement = CAVEATS[f"out_of_order_{'placed' if placed else 'unplaced'}"]
    caveats = (*CAVEATS["out_of_order"], *on_placement)
    return Result("out_of_order", table, facts, sentences, caveats)


def plot(result: Result) -> Figure:
    """Draw the share of out-of-order starts per gang bucket, and per virtual cluster."""
    table = result.table
    fig, [gangs_ax, vcs_ax] = figures.canvas(2, height=3.0)
    if table.empty:
        return figures.empty(fig, "no start after a trusted wait")
    sums = table.groupby("gang")[["starts", "overtook"]].sum()
    gangs = figures.ordered(sums.index, GANGS)
    pct = 100 * sums["overtook"] / sums["starts"]
    names = [f"{g}\nn={sums['starts'][g]:,}" for g in gangs]
    colors = [figures.GANG_COLORS[g] for g in gangs]
    drawn = gangs_ax.bar(names, pct[gangs], width=0.7, color=colors)
    gangs_ax.bar_label(drawn, fmt="%.1f", fontsize=8)
    gangs_ax.set(ylabel="out-of-order starts (%)", xlabel="GPUs of the attempt that starts")
    gangs_ax.grid(visible=False, axis="x")
    vcs = table.groupby("vc")[["starts", "overtook"]].sum().nlargest(10, "starts")[::-1]
    pct = 100 * vcs["overtook"] / vcs["starts"]
    names = [f"{vc}  n={n:,}" for vc, n in vcs["starts"].items()]
    figures.hbars(vcs_ax, names, pct, [f"{p:.1f}" for p in pct], color=figures.ACCENT)
    vcs_ax.set_xlabel("out-of-order starts (%), by virtual cluster")
    return fig


ANALYSIS = Analysis(
    name="out_of_order",
    question="How often do jobs start out of order, and could the overtaken job have started?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log has no waits: no attempt has a known submission and start.",
    all_jobs=True,
)
