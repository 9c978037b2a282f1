"""What the shipped account of trust holds: models against months, of other lists, not fitted to.

Nothing is measured here: ``models/shipped/CALIBRATION.md`` is read, as ``data/coverage.py`` and
``data/waits.py`` wrote it. What its columns mean stands with
:mod:`philly_analysis.models.validation.coverage`, which scores any list of jobs alike.
"""

import re
from importlib.resources import files

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.models.validation.coverage import OURS
from philly_analysis.results import Fact, Result, figures, number
from philly_analysis.trace import Trace

QUESTION = "How far can such a model be trusted with months that it has not seen?"
NEEDS: tuple[str, ...] = ()
"""It asks what was measured before, whatever the trace."""

NAMES = {
    "draws": "draws",
    "statistics": "statistics",
    "covered by 90 %": "covered_pct",
    "of all pairs": "all_pairs_pct",
    "Winkler": "winkler",
    "width": "width",
    "PIT < 0.05": "pit_below_pct",
    "middle half": "pit_middle_pct",
    "> 0.95": "pit_above_pct",
}
"""Columns of the account, as they stand there and here."""
USERS, ONE_BY_ONE = "user blocks", "jobs one by one"
PROMISED = 90


def compute(trace: Trace) -> Result:
    """Return what was measured on other lists of jobs; the answer is the same on any trace."""
    told = files("philly_analysis.models").joinpath("shipped", "CALIBRATION.md").read_text("utf-8")
    [measured_on] = re.findall(r"\((\d{4}-\d\d-\d\d)\)", told.partition("\n## ")[0])
    of_months, about = _section(told, "Other months")
    of_every, without = (
        ", ".join(f"{s} {p}" for s, p in _covered(_section(told, name)[0]).items())
        for name in ("Other months of all lists", "Other months without the site")
    )
    of_waits, how = _section(told, "Waits")
    table = of_months.rename(columns=NAMES)[[*NAMES.values()]]
    for column in [*NAMES.values()][2:]:
        table[column] = table[column].str.rstrip(" %").astype(float)
    by = table.set_index(["draws", "statistics"])
    ours, users, one = (by.loc[draws] for draws in (OURS, USERS, ONE_BY_ONE))
    covered = ", ".join(f"{s} {p:.0f} %" for s, p in ours["all_pairs_pct"].items())
    blocks = ", ".join(f"{users['all_pairs_pct'][s]:.0f}" for s in ours.index)
    dearer = [s for s in ours.index if ours["winkler"][s] > users["winkler"][s]]
    inside = of_waits.groupby("policy", sort=False)["inside"].agg(
        lambda said: f"{(said == 'yes').sum()} of {len(said)}"
    )
    return Result(
        name="other_months",
        table=table,
        facts=tuple(
            Fact(
                f"{statistics.replace(' ', '_')}_covered_pct",
                float(share),
                f"windows whose {statistics} lay in the model's 90 % intervals, %",
            )
            for statistics, share in zip(map(str, ours.index), ours["all_pairs_pct"], strict=True)
        ),
        sentences=(
            f"A model's {PROMISED} % intervals held the days after those that it was fitted to in "
            f"{ours['all_pairs_pct'].min():.0f} to {ours['all_pairs_pct'].max():.0f} % of cases.",
            f"{about.partition('.')[0]}: {covered}. Whole users drawn again held them in "
            f"{blocks} %.",
            f"Width and misses together (Winkler score: the less, the better) come to "
            f"{number(ours['winkler']['run time'])} for run time, against "
            f"{number(users['winkler']['run time'])} for whole users drawn again and "
            f"{number(one['winkler']['run time'])} for jobs one by one"
            + (f"; for {' and '.join(dearer)} whole users drawn again do better" * bool(dearer))
            + ".",
            "Real mean waits lay within 90 % of the months that were sampled in "
            + ", ".join(f"{n} windows under {policy}" for policy, n in inside.items())
            + f" ({how.partition(';')[0].removeprefix('Mean waits in minutes ')}).",
        ),
        caveats=(
            f"Measured on other lists of jobs, {measured_on}, and not on this trace. Nothing was "
            "chosen by these lists, but they are of sites that others were learned from. Of all "
            f"lists, those learned on too, intervals held {of_every}; those of laws made alike "
            f"without a site held {without} of that site's.",
            f"PIT: of what knows what it does not know half lies in the middle half. Of "
            f"{', '.join(f'{s} {p:.0f} %' for s, p in ours['pit_middle_pct'].items())} do: where "
            "that is far more, intervals are wider than need be.",
            "Waits are of windows that the models were fitted to.",
        ),
    )


def _covered(table: pd.DataFrame) -> "pd.Series[str]":
    return table[table["draws"] == OURS].set_index("statistics")["of all pairs"]


def plot(result: Result) -> Figure:
    """Draw coverage, Winkler score and middle half of the PIT, a mark per way of drawing months."""
    table = result.table
    fig, axes = figures.canvas(3, width=10.5, height=2.9, sharey=True)
    one = table[table["draws"] == ONE_BY_ONE].set_index("statistics")["winkler"]
    table = table.assign(score=table["winkler"] / table["statistics"].map(one))
    for ax, column, label, wanted in (
        (axes[0], "all_pairs_pct", "in 90 % intervals, %", PROMISED),
        (axes[1], "score", f"Winkler score, {ONE_BY_ONE} = 1", None),
        (axes[2], "pit_middle_pct", "PIT in the middle half, %", 50),
    ):
        _marks(ax, table, column)
        if wanted is not None:
            ax.axvline(wanted, color=figures.CYCLE[2], linewidth=2.5, zorder=0)
            ax.set_xlim(0, 103)
        else:
            ax.set_xlim(left=0)
        ax.set_xlabel(label)
    for ax, text in zip(
        axes, ("coverage", "width and misses", "neither too wide nor narrow"), strict=True
    ):
        figures.title(ax, text)
    fig.legend(  # marks, of which a name beside one would not tell the others
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=8.5,
    )
    return fig


def _marks(ax: Axes, table: pd.DataFrame, column: str) -> None:
    order = list(dict.fromkeys(table["statistics"]))[::-1]
    for i, (draws, rows) in enumerate(table.groupby("draws", sort=False)):
        ax.plot(
            rows[column],
            [order.index(s) for s in rows["statistics"]],
            "D" if draws == OURS else "o",
            color=figures.CYCLE[i],
            label=str(draws),
            markersize=7 if draws == OURS else 5,
        )
    ax.set_yticks(range(len(order)), order)
    ax.set_ylim(-0.5, len(order) - 0.5)


def _section(told: str, title: str) -> tuple[pd.DataFrame, str]:
    """Return the first table of a section of the account, and what is said before it."""
    about, _, rest = told.partition(f"## {title}\n")[2].partition("\n|")
    lines = f"|{rest}".split("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    names = [f"{n} ({head[:i].count(n) + 1})" if n in head[:i] else n for i, n in enumerate(head)]
    return pd.DataFrame(rows, columns=names), " ".join(about.split())
