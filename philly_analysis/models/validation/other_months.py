"""Coverage of predictive intervals on other lists of jobs, from the shipped CALIBRATION.md.

``data/checks/coverage.py`` and ``data/checks/waits.py`` wrote the file;
:mod:`philly_analysis.models.validation.coverage` defines its columns.
"""

import re
from importlib.resources import files

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.models.validation.calibration import WORKLOAD_MODEL
from philly_analysis.results import Fact, Result, figures, number
from philly_analysis.trace import Analysis, Trace

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
"""Columns of the file and of the table."""
USER_BLOCKS, INDEPENDENT_JOBS = "user blocks", "jobs one by one"
CONFIDENCE_PCT = 90


def compute(trace: Trace) -> Result:
    """Return the coverage measured on other lists of jobs.

    The coverage is the same for any trace.
    """
    text = files("philly_analysis.models").joinpath("shipped", "CALIBRATION.md").read_text("utf-8")
    [measured_on] = re.findall(r"\((\d{4}-\d\d-\d\d)\)", text.partition("\n## ")[0])
    scores, about = _section(text, "Other months")
    waits, about_waits = _section(text, "Waits")
    table = scores.rename(columns=NAMES)[[*NAMES.values()]]
    for column in [*NAMES.values()][2:]:
        table[column] = table[column].str.rstrip(" %").astype(float)
    by = table.set_index(["draws", "statistics"])
    methods = (WORKLOAD_MODEL, USER_BLOCKS, INDEPENDENT_JOBS)
    model, users, jobs = (by.loc[method] for method in methods)
    covered = model["all_pairs_pct"]
    better = [s for s in model.index if model["winkler"][s] > users["winkler"][s]]
    inside = waits.groupby("policy", sort=False)["inside"].agg(
        lambda cells: f"{(cells == 'yes').sum()} of {len(cells)}"
    )
    every, without = (
        _covered(text, f"Other months {of}") for of in ("of all lists", "without the site")
    )
    return Result(
        name="other_months",
        table=table,
        facts=tuple(
            Fact(
                f"{str(statistics).replace(' ', '_')}_covered_pct",
                float(share),
                f"windows whose {statistics} lay in the model's 90 % intervals, %",
            )
            for statistics, share in covered.items()
        ),
        sentences=(
            f"A model's {CONFIDENCE_PCT} % intervals covered the period after the fitted one in "
            f"{covered.min():.0f} to {covered.max():.0f} % of cases.",
            f"{about.partition('.')[0]}: "
            + ", ".join(f"{s} {p:.0f} %" for s, p in covered.items())
            + ". Resampling whole users covered "
            + ", ".join(f"{users['all_pairs_pct'][s]:.0f}" for s in model.index)
            + " %.",
            "The Winkler score (interval width and misses, the less the better) of run time is "
            f"{number(model['winkler']['run time'])}, against "
            f"{number(users['winkler']['run time'])} of resampled users and "
            f"{number(jobs['winkler']['run time'])} of resampled jobs"
            + f"; resampled users are better for {' and '.join(better)}" * bool(better)
            + ".",
            "Real mean waits lay within 90 % of the sampled periods in "
            + ", ".join(f"{n} windows under {policy}" for policy, n in inside.items())
            + f" ({about_waits.partition(';')[0].removeprefix('Mean waits in minutes ')}).",
        ),
        caveats=(
            f"Measured on other lists of jobs, {measured_on}, and not on this trace. No parameter "
            "was chosen by these lists, but they are of sites of the lists that were used. On all "
            f"lists, those included, intervals covered {every}; with parameters estimated without "
            f"the site, they covered {without} of that site's windows.",
            "Half of the PIT of a calibrated model lies in the middle half: here "
            f"{', '.join(f'{s} {p:.0f} %' for s, p in model['pit_middle_pct'].items())}. Far more "
            "means that intervals are too wide.",
            "Waits are of windows that the models were fitted to.",
        ),
    )


def _covered(text: str, title: str) -> str:
    """Return the model's coverage in a section, by group of statistics."""
    table, _ = _section(text, title)
    mine = table[table["draws"] == WORKLOAD_MODEL]
    return ", ".join(
        f"{s} {p}" for s, p in zip(mine["statistics"], mine["of all pairs"], strict=True)
    )


def plot(result: Result) -> Figure:
    """Plot coverage, Winkler score and middle half of the PIT, a marker per method."""
    table = result.table
    fig, axes = figures.canvas(3, width=10.5, height=2.9, sharey=True)
    jobs = table[table["draws"] == INDEPENDENT_JOBS].set_index("statistics")["winkler"]
    table = table.assign(score=table["winkler"] / table["statistics"].map(jobs))
    order = list(dict.fromkeys(table["statistics"]))[::-1]
    for ax, title, column, label, wanted in (
        (axes[0], "coverage", "all_pairs_pct", "in 90 % intervals, %", CONFIDENCE_PCT),
        (axes[1], "width and misses", "score", f"Winkler score, {INDEPENDENT_JOBS} = 1", None),
        (axes[2], "interval width", "pit_middle_pct", "PIT in the middle half, %", 50),
    ):
        for i, (draws, rows) in enumerate(table.groupby("draws", sort=False)):
            marker, size = ("D", 7) if draws == WORKLOAD_MODEL else ("o", 5)
            at, color = rows["statistics"].map(order.index), figures.CYCLE[i]
            ax.plot(rows[column], at, marker, color=color, label=str(draws), markersize=size)
        ax.set_yticks(range(len(order)), order)
        ax.set_ylim(-0.5, len(order) - 0.5)
        ax.set_xlim(0, None if wanted is None else 103)
        if wanted is not None:
            ax.axvline(wanted, color=figures.CYCLE[2], linewidth=2.5, zorder=0)
        ax.set_xlabel(label)
        figures.title(ax, title)
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=5, frameon=False, fontsize=8.5)
    return fig


def _section(text: str, title: str) -> tuple[pd.DataFrame, str]:
    """Return the first table of a section, and the paragraph before it."""
    about, _, table_text = text.partition(f"## {title}\n")[2].partition("\n|")
    lines = f"|{table_text}".split("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return pd.DataFrame(rows, columns=head), " ".join(about.split())


ANALYSIS = Analysis(
    name="other_months",
    question="How well do such models predict periods that they were not fitted to?",
    needs=(),
    compute=compute,
    plot=plot,
)
