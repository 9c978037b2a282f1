"""CPU and memory use of servers, with a job and without (ATC'19, Figure 7).

Of memory, what the monitor calls used may contain caches. A server counts as empty while no
attempt holds a GPU of it, though other work may run there.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside, is_philly
from philly_analysis.results import Comparison, Fact, Result, figures
from philly_analysis.study import NOTEBOOK, curve, largest_gap_pct
from philly_analysis.trace import Trace

QUESTION = "How much CPU and memory do servers use, with a job and without?"
NEEDS = ("jobs", "attempts", "placements", "machines", "host_samples")

_RESOURCES = {"cpu": "CPU", "mem": "memory"}
_COLORS = {
    "all": figures.INK,
    "with a job": figures.CYCLE[1],
    "without a job": figures.CYCLE[5],
}


def compute(trace: Trace) -> Result:
    """Give the use of CPU and memory over server-minutes of all, busy and empty servers."""
    table = trace.answer("host_util").df()
    grid = table.set_index(["resource", "servers", "percentile"]).sort_index()
    facts = []
    said = []
    for resource, word in _RESOURCES.items():
        for servers in _COLORS:
            if (resource, servers, 50) not in grid.index:
                continue
            rows = grid.loc[(resource, servers)]
            slug = f"{resource}_{servers.replace(' ', '_')}"
            facts += [
                Fact(f"mean_{slug}_pct", rows["mean_pct"][50], f"mean {word} use, {servers}"),
                *(
                    Fact(
                        f"p{p}_{slug}_pct",
                        rows["util_pct"][p],
                        f"{word} use that {p} % of minutes do not exceed, {servers}",
                    )
                    for p in (20, 50, 80, 90)
                ),
            ]
        named = {f.name: f.value for f in facts}
        busy = named.get(f"p50_{resource}_with_a_job_pct")
        if busy is not None:
            text = (
                f"A server with a job uses {busy:.0f} % of its {word} in the median minute, and "
                f"no more than {named[f'p90_{resource}_with_a_job_pct']:.0f} % in 90 % of them"
            )
            idle = named.get(f"p50_{resource}_without_a_job_pct")
            said.append(
                f"{text}; without a job the median is {idle:.0f} %."
                if idle is not None
                else f"{text}."
            )
    return Result(
        name="host_util",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "Memory in use includes the page cache. A server has a job in the minutes of an "
            "attempt that held GPUs of it and whose start and end are known; attempts without an "
            "end count as absent.",
        ),
        comparisons=(*beside(trace, "host_util", facts), *_notebook(trace, table)),
    )


def _notebook(trace: Trace, table: pd.DataFrame) -> tuple[Comparison, ...]:
    """Compare all server-minutes with the curves of the notebook, which pools them too."""
    if not is_philly(trace):
        return ()
    found = []
    for resource, group in (("cpu", "cpu"), ("mem", "memory")):
        rows = table[(table["resource"] == resource) & (table["servers"] == "all")]
        if len(rows):
            gap = largest_gap_pct(curve("host_util", group), rows["util_pct"])
            found.append(
                Comparison(
                    what=f"largest gap to the notebook's Figure 7, {_RESOURCES[resource]}",
                    published=0.0,
                    measured=gap,
                    unit="points",
                    source=NOTEBOOK,
                    reason="the notebook pools every server-minute, as the curve of all servers "
                    "does here",
                )
            )
    return tuple(found)


def plot(result: Result) -> Figure:
    """Draw cumulative use, one panel for CPU and one for memory."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no server was sampled")
    present = [r for r in _RESOURCES if (table["resource"] == r).any()]
    fig, axes = figures.canvas(len(present), sharey=True)
    for ax, resource in zip(axes, present, strict=True):
        figures.cdf(
            ax,
            table[table["resource"] == resource],
            value="util_pct",
            by="servers",
            colors=_COLORS,
            say=lambda which: "all servers" if which == "all" else f"servers {which}",
        )
        rows = table[(table["resource"] == resource) & (table["servers"] == "all")]
        n = float(rows["server_h"].iloc[0])
        ax.set(xlim=(0, 100), xlabel=f"{_RESOURCES[resource]} use, %", ylabel="")
        figures.title(ax, f"{_RESOURCES[resource]}  n={n:,.0f} server-hours")
    axes[0].set_ylabel("share of server-minutes")
    figures.name_lines(axes)
    return fig
