"""Report GPU utilisation of gangs by their number of servers (ATC'19, Table 5).

Not a like-for-like comparison: gangs on more servers have other users and statuses and share
servers more often. `locality_effect` adjusts for users, statuses and sharing.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.gang_sizes import trend
from philly_analysis.analyses.shared.texts import CAVEATS, TRENDS
from philly_analysis.analyses.shared.utilisation_curves import plot_curves
from philly_analysis.results import Fact, Result, count, figures
from philly_analysis.trace import Analysis, Trace

STUDY_GANG = 16
"""Gang size of the study's Table 5."""

_CURVES = 5
_FEW_ATTEMPTS = 5


def compute(trace: Trace) -> Result:
    """Compute utilisation by gang size and servers; test its trend for one gang size."""
    table = trace.answer("gpu_util_by_servers").df()
    size = reported_size(table)
    grid = table[table["gpus"] == size].pivot_table(
        index="servers", columns="percentile", values="util_pct"
    )
    rows = table[(table["gpus"] == size) & (table["percentile"] == 50)].set_index("servers")
    facts = [Fact("gpus", size, "gang size of the other facts")]
    for servers in rows.index:
        on = f"{size}_on_{servers}_pct"
        where = count(int(servers), "server")
        facts.append(Fact(f"mean_{on}", rows["mean_pct"][servers], f"mean on {where}"))
        facts += [
            Fact(f"p{p}_{on}", grid[p][servers], f"{p}th percentile on {where}")
            for p in (50, 90, 95)
        ]
    sentences: list[str] = []
    if size is not None:
        attempts = trace.answer("sampled_attempts").filter(f"gpus = {size}")
        spread = trend(attempts, "servers", "mean_pct")
        facts += spread.facts("servers", f"servers and mean utilisation, {size}-GPU attempts")
        means = ", ".join(
            f"{row.mean_pct:.1f} % on {count(int(row.servers), 'server')} (n = {row.attempts:,})"
            for row in rows.reset_index().itertuples()
            if row.attempts >= _FEW_ATTEMPTS
        )
        sentences = [
            f"Gangs of {size} GPUs have a mean utilisation of {means}."
            if means
            else f"No number of servers has {_FEW_ATTEMPTS} attempts of {size} GPUs.",
            spread.sentence(**TRENDS["gpu_util_by_servers"]),
        ]
    return Result("gpu_util_by_servers", table, facts, sentences, CAVEATS["gpu_util_by_servers"])


def reported_size(table: pd.DataFrame) -> int | None:
    """Return the study's gang size if present, else the size on most numbers of servers."""
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
    size = reported_size(result.table)
    if size is None:
        why = "no gang size ran on different numbers of servers"
        return figures.empty(figures.canvas()[0], why)
    rows = result.table[result.table["gpus"] == size]
    most = rows[rows["percentile"] == 0].nlargest(_CURVES, "attempts")["servers"]
    return plot_curves(
        rows,
        "servers",
        {str(s): figures.CYCLE[i] for i, s in enumerate(sorted(map(int, most)))},
        label=lambda servers: count(int(servers), "server"),
        title=f"gangs of {size} GPUs",
    )


ANALYSIS = Analysis(
    name="gpu_util_by_servers",
    question="How busy are a gang's GPUs, by the number of its servers?",
    needs=("jobs", "attempts", "placements", "machines", "gpu_samples"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_use_bins",
)
