"""Servers used against delay for large gangs: what waiting less costs in locality (Figure 4)."""

from matplotlib.figure import Figure

from philly_analysis import figures
from philly_analysis.inference import rank_association
from philly_analysis.prose import count, duration, gpus, share, slug
from philly_analysis.result import Fact, Result
from philly_analysis.trace import Trace

QUESTION = "Do large gangs that spread over more servers wait less?"
NEEDS = ("jobs", "attempts", "placements", "machines")

_GANGS = ("5-8", ">8")


def compute(trace: Trace) -> Result:
    """Compare waits by distinct servers used, for first attempts on five GPUs and more."""
    table = trace.answer("locality_relaxation").df()
    waits = trace.sql(
        """
        select gang_bucket(w.gpus) as gang, w.gpus, w."user", w.wait_s, p.servers,
          p.servers / p.fewest_servers as stretch, p.spread
        from waits as w
        inner join attempt_servers as p on w.job_id = p.job_id and w.attempt = p.attempt
        where w.first and w.flag is null and w.gpus >= 5
        """
    ).df()
    facts = [Fact("attempts", len(waits), "first attempts on five GPUs or more")]
    said = []
    for gang in _GANGS:
        rows = waits[waits["gang"] == gang]
        spread = rows["spread"].astype(bool)
        # within one gang size, or a larger gang would pass for a wider spread
        rank = rows.groupby("gpus")["wait_s"].rank(pct=True)
        trend = rank_association(rows["stretch"], rank, rows["user"])
        wide, tight = rows.loc[spread, "wait_s"].median(), rows.loc[~spread, "wait_s"].median()
        facts += [
            Fact(f"spread_{slug(gang)}_pct", 100 * spread.mean() if len(rows) else None,
                 f"on more servers than needed, {gpus(gang)}"),
            Fact(f"median_wait_spread_{slug(gang)}_s", wide, "their median wait"),
            Fact(f"median_wait_tight_{slug(gang)}_s", tight, "median wait of the others"),
            *trend.facts(f"spread_{slug(gang)}", "servers over fewest servers and wait, "
                                                 f"within each gang size, {gpus(gang)}"),
        ]  # fmt: skip
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
    [(unplaced,)] = trace.sql(
        """
        select count(*) from waits as w
        anti join attempt_servers as p on w.job_id = p.job_id and w.attempt = p.attempt
        where w.first and w.flag is null and w.gpus >= 5
        """
    ).fetchall()
    return Result(
        name="locality_relaxation",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "Servers are the attempt's distinct machines; the fewest are those that its GPUs need "
            "on the cluster's largest machines.",
            *([f"{count(unplaced, 'attempt')} without placements left out."] if unplaced else []),
        ),
    )


def plot(result: Result) -> Figure:
    """Draw the wait (median, and from 10 to 90 %) against the servers used, per gang bucket."""
    table = result.table
    most = int(table["gang"].value_counts().max()) if len(table) else 0
    fig, axes = figures.canvas(2, height=max(3.0, 1 + 0.19 * most), sharex=True)
    if table.empty:
        return figures.empty(fig, "no placed attempt on five GPUs or more")
    for ax, gang in zip(axes, _GANGS, strict=True):
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
        ax.set_xticks([1, 60, 3_600, 86_400, 2_592_000])
        ax.set_xlabel("wait (dot: median; line: 10-90 %)")
        figures.title(ax, gpus(gang))
    axes[0].set_ylabel("servers")
    return fig
