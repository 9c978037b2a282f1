"""GPU utilisation of gangs by the servers they are spread over (ATC'19, Table 5).

Not like with like: gangs on more servers belong to other users, share servers more often and end
otherwise. `locality_effect` compares within these.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside
from philly_analysis.results import Fact, Result, count, figures, rank_association
from philly_analysis.trace import Trace

QUESTION = "How busy are a gang's GPUs, by the number of servers that it is spread over?"
NEEDS = ("jobs", "attempts", "placements", "machines", "gpu_samples")

STUDY_GANG = 16
"""Gang size of the study's Table 5."""

_CURVES = 5
_FEW_ATTEMPTS = 5


def compute(trace: Trace) -> Result:
    """Give utilisation by gang size and servers; test its trend for one gang size."""
    table = trace.answer("gpu_util_by_servers").df()
    size = widest(table)
    grid = table[table["gpus"] == size].pivot_table(
        index="servers", columns="percentile", values="util_pct"
    )
    rows = table[(table["gpus"] == size) & (table["percentile"] == 50)].set_index("servers")
    facts = [Fact("gpus", size, "gang size that the other facts are about")]
    for servers in rows.index:
        where = f"{count(int(servers), 'server')}"
        facts.append(
            Fact(f"mean_{size}_on_{servers}_pct", rows["mean_pct"][servers], f"mean on {where}")
        )
        facts += [
            Fact(f"p{p}_{size}_on_{servers}_pct", grid[p][servers], f"{p}th percentile on {where}")
            for p in (50, 90, 95)
        ]
    said: list[str] = []
    if size is not None:
        sampled = (
            trace.answer("sampled_attempts").select("gpus", "servers", "user", "mean_pct").df()
        )
        attempts = sampled[sampled["gpus"] == size]
        trend = rank_association(attempts["servers"], attempts["mean_pct"], attempts["user"])
        facts += trend.facts("servers", f"servers and mean utilisation, {size}-GPU attempts")
        each = ", ".join(
            f"{row.mean_pct:.1f} % on {count(int(row.servers), 'server')} (n = {row.attempts:,})"
            for row in rows.reset_index().itertuples()
            if row.attempts >= _FEW_ATTEMPTS
        )
        said = [
            f"Gangs of {size} GPUs keep them busy {each}."
            if each
            else f"No number of servers has {_FEW_ATTEMPTS} attempts of {size} GPUs.",
            trend.say(
                rises="The more servers they are spread over, the busier their GPUs",
                falls="The more servers they are spread over, the less busy their GPUs",
                unclear="Their utilisation neither clearly rises nor clearly falls with servers",
            ),
        ]
    return Result(
        name="gpu_util_by_servers",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "Not a comparison of like with like: spread gangs may belong to other users, end "
            "otherwise and share their servers. The next finding allows for that.",
        ),
        comparisons=beside(trace, "gpu_util_by_servers", facts),
    )


def widest(table: pd.DataFrame) -> int | None:
    """Return the gang size to look at: the study's, or else the one on most numbers of servers."""
    sizes = (
        table[table["percentile"] == 0]
        .groupby("gpus")
        .agg(ways=("servers", "size"), gpu_h=("gpu_h", "sum"))
    )
    spread = sizes[sizes["ways"] > 1]
    if STUDY_GANG in spread.index:
        return STUDY_GANG
    return None if spread.empty else int(spread.sort_values(["ways", "gpu_h"]).index[-1])


def plot(result: Result) -> Figure:
    """Draw cumulative utilisation for one gang size, one curve per number of servers."""
    table = result.table
    size = widest(table)
    fig, [ax] = figures.canvas()
    if size is None:
        return figures.empty(fig, "no gang size ran on different numbers of servers")
    rows = table[table["gpus"] == size]
    first = rows[rows["percentile"] == 0]
    most = sorted(int(s) for s in first.nlargest(_CURVES, "attempts")["servers"])
    named = rows[rows["servers"].isin(most)].assign(on=rows["servers"].astype(int).astype(str))
    figures.cdf(
        ax,
        named,
        value="util_pct",
        by="on",
        colors={str(s): figures.CYCLE[i] for i, s in enumerate(most)},
        counts=dict(zip(named["on"], named["attempts"], strict=True)),
        say=lambda servers: count(int(servers), "server"),
    )
    ax.set(xlim=(0, 100), xlabel="GPU utilisation, %", ylabel="share of GPU-minutes")
    figures.title(ax, f"gangs of {size} GPUs")
    figures.name_lines(ax)
    return fig
