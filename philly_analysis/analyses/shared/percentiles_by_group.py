"""Report percentiles of a duration by user, virtual cluster and week."""

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, duration, figures
from philly_analysis.trace import Trace

_KINDS = {"vc": "virtual cluster", "week": "week", "user": "user"}
_FEWEST = 100
"""Fewest rows of a group that a sentence names."""
_SHOWN = 16
"""Most users and virtual clusters that are drawn, chosen by their rows; all weeks are drawn."""


@dataclass(frozen=True, slots=True)
class GroupPercentiles:
    """A duration by group, and the percentile that its facts compare.

    Attributes
    ----------
    name
        Name of the analysis and its relation.
    rows
        Column with the number of rows per group.
    quantity
        The duration, in words.
    column
        Column of the percentile that is compared.
    fact, percentile
        The percentile as part of a fact's name, and in words.
    """

    name: str
    rows: str
    quantity: str
    column: str
    fact: str
    percentile: str

    def compute(self, trace: Trace) -> Result:
        """Compare the lowest and the highest percentile of each kind of group."""
        table = trace.answer(self.name).df()
        facts, sentences = [], []
        for kind, word in _KINDS.items():
            groups = table[table["kind"] == kind].sort_values([self.column, "name"])
            facts.append(Fact(f"{kind}s", len(groups), f"{word}s with a trusted {self.quantity}"))
            large = groups[groups[self.rows] >= _FEWEST]
            if len(large) < 2:
                continue
            ends = {"lowest": large.iloc[0], "highest": large.iloc[-1]}
            facts += [
                Fact(f"{kind}_{end}_{self.fact}_s", g[self.column], f"{end} {self.fact}, {word}s")
                for end, g in ends.items()
            ]
            low, high = (f"{duration(float(g[self.column]))} ({g['name']})" for g in ends.values())
            sentences.append(
                f"By {word} (at least {_FEWEST} {self.rows}), the {self.percentile} is between "
                f"{low} and {high}."
            )
        return Result(self.name, table, facts, sentences)

    def plot(self, result: Result) -> Figure:
        """Draw quantiles per group: the largest virtual clusters and users, and every week."""
        table = result.table
        fig, axes = figures.canvas(len(_KINDS), width=9.6, height=4.4)
        if table.empty:
            return figures.empty(fig, "nothing to compare")
        for ax, (kind, word) in zip(axes, _KINDS.items(), strict=True):
            rows = table[table["kind"] == kind]
            shown = rows if kind == "week" else rows.nlargest(_SHOWN, self.rows)
            _draw_quantiles(ax, shown, shown[self.rows])
            ax.set_xlabel(self.quantity)
            more = f", {_SHOWN} of {len(rows):,}" if len(shown) < len(rows) else ""
            figures.title(ax, f"{word}s{more}")
        return fig


def _draw_quantiles(ax: Axes, table: pd.DataFrame, counts: "pd.Series[int]") -> None:
    """Draw quantiles per row: 5-95 % thin, 25-75 % thick, the median as a dot."""
    y = range(len(table))[::-1]
    q = {p: table[f"p{p}_s"].clip(lower=1).to_numpy(float) for p in (5, 25, 50, 75, 95)}
    ax.hlines(y, q[5], q[95], color=figures.ACCENT, alpha=0.35, linewidth=1.5)
    ax.hlines(y, q[25], q[75], color=figures.ACCENT, alpha=0.8, linewidth=4)
    ax.plot(q[50], y, "o", color=figures.CYCLE[1], markersize=4)
    labels = [f"{figures.literal(n)}  n={k:,}" for n, k in zip(table["name"], counts, strict=True)]
    ax.set_yticks(y, labels, fontsize=7.5)
    figures.time_axis(ax)
    ax.grid(visible=False, axis="y")
