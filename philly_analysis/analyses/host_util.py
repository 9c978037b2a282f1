"""Report CPU and memory use of servers with and without a job (ATC'19, Figure 7).

Memory that the monitor reports as used may include caches. A server is without a job while no
attempt holds a GPU of the server, though other work may run there.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.published import is_philly, notebook_gap
from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.results import Fact, Result, figures
from philly_analysis.trace import Analysis, Trace

_RESOURCES = {"cpu": "CPU", "mem": "memory"}
_COLORS = {
    "all": figures.INK,
    "with a job": figures.CYCLE[1],
    "without a job": figures.CYCLE[5],
}


def compute(trace: Trace) -> Result:
    """Compute CPU and memory use over server-minutes, with a job, without and in total."""
    table = trace.answer("host_util").df()
    grids = {
        key: rows.set_index("percentile") for key, rows in table.groupby(["resource", "servers"])
    }
    facts: list[Fact] = []
    sentences = []
    for resource, word in _RESOURCES.items():
        for servers in _COLORS:
            if (resource, servers) not in grids:
                continue
            rows = grids[resource, servers]
            name = f"{resource}_{servers.replace(' ', '_')}_pct"
            facts.append(Fact(f"mean_{name}", rows["mean_pct"][50], f"mean {word} use, {servers}"))
            facts += [
                Fact(
                    f"p{p}_{name}",
                    rows["util_pct"][p],
                    f"{p}th percentile of {word} use, {servers}",
                )
                for p in (20, 50, 80, 90)
            ]
        if (resource, "with a job") in grids:
            pct = grids[resource, "with a job"]["util_pct"]
            sentence = (
                f"The median {word} use of servers with a job is {pct[50]:.0f} %, the 90th "
                f"percentile {pct[90]:.0f} %"
            )
            if (resource, "without a job") in grids:
                idle = grids[resource, "without a job"]["util_pct"][50]
                sentence += f"; without a job the median is {idle:.0f} %"
            sentences.append(f"{sentence}.")
    gaps = [
        notebook_gap(
            "host_util",
            word.lower(),
            grids[resource, "all"]["util_pct"],
            f"largest gap to the notebook's Figure 7, {word}",
            "the notebook pools all server-minutes, as the curve of all servers does",
        )
        for resource, word in _RESOURCES.items()
        if is_philly(trace) and (resource, "all") in grids
    ]
    return Result("host_util", table, facts, sentences, CAVEATS["host_util"], gaps)


def plot(result: Result) -> Figure:
    """Draw cumulative use, one panel for CPU and one for memory."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no server was sampled")
    present = [r for r in _RESOURCES if (table["resource"] == r).any()]
    fig, axes = figures.canvas(len(present), sharey=True)
    for ax, resource in zip(axes, present, strict=True):
        rows = table[table["resource"] == resource]
        figures.cdf(
            ax,
            rows,
            value="util_pct",
            by="servers",
            colors=_COLORS,
            label=lambda which: "all servers" if which == "all" else f"servers {which}",
        )
        hours = float(rows.loc[rows["servers"] == "all", "server_h"].iloc[0])
        ax.set(xlim=(0, 100), xlabel=f"{_RESOURCES[resource]} use, %", ylabel="")
        figures.title(ax, f"{_RESOURCES[resource]}  n={hours:,.0f} server-hours")
    axes[0].set_ylabel("share of server-minutes")
    figures.label_lines(axes)
    return fig


ANALYSIS = Analysis(
    name="host_util",
    question="How much CPU and memory do servers use, with and without a job?",
    needs=("jobs", "attempts", "placements", "machines", "host_samples"),
    compute=compute,
    plot=plot,
    sample_counts="host_util_bins",
    all_jobs=True,
)
