"""GPU utilisation by gang size and job status (ATC'19, Table 3 and Figure 5).

Utilisation says that something ran, not how well. Weighed by minutes, a few long attempts rule
the mean; attempts whose server was not sampled are left out, and are counted.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.exclusions import unsampled
from philly_analysis.analyses.published import beside, is_philly
from philly_analysis.results import (
    Comparison,
    Fact,
    Result,
    count,
    figures,
    gpus,
    rank_association,
    share,
)
from philly_analysis.study import KILLED, NOTEBOOK, PASS, curve, groups, largest_gap_pct
from philly_analysis.trace import Trace

QUESTION = "How busy are the GPUs that jobs hold, by gang size and by how the job ends?"
NEEDS = ("jobs", "attempts", "placements", "machines", "gpu_samples")

SIZES = 4
"""Gang sizes with a curve of their own: those that hold most GPU time."""


def compute(trace: Trace) -> Result:
    """Give utilisation by exact gang size and status, and test how it differs."""
    # at once, so that the samples are read once
    trace.create(["gpu_util", *(["notebook_gpu_util"] if is_philly(trace) else [])])
    table = trace.answer("gpu_util").df()
    attempts = trace.answer("sampled_attempts").select("gpus", "status", "user", "mean_pct").df()
    size = rank_association(attempts["gpus"], attempts["mean_pct"], attempts["user"])
    passed = attempts[attempts["status"].isin([PASS, KILLED])]
    killed = rank_association(passed["status"] == KILLED, passed["mean_pct"], passed["user"])
    means = table[table["percentile"] == 50]
    facts = _means(means)
    whole = means[means["gpus"].isna() & means["status"].isna()]
    said = []
    if len(whole):
        [all_] = whole.to_dict("records")
        facts += [
            Fact("gpu_h", all_["gpu_h"], "GPU-hours held and sampled"),
            Fact("idle_pct", all_["idle_pct"], "share of them at exactly 0 %"),
            Fact("median_pct", all_["util_pct"], "utilisation that half of them do not exceed"),
        ]
        said = [
            f"Over {all_['gpu_h']:,.0f} GPU-hours that attempts held, GPUs were "
            f"{all_['mean_pct']:.1f} % busy on average and wholly idle for "
            f"{share(all_['idle_pct'] / 100)} of the time.",
            _by_size(means),
            size.say(
                rises="From attempt to attempt, larger gangs use their GPUs more",
                falls="From attempt to attempt, larger gangs use their GPUs less",
                unclear="From attempt to attempt, utilisation neither clearly rises nor clearly "
                "falls with gang size",
            ),
        ]
        if len(set(passed["status"])) > 1:
            said.append(
                killed.say(
                    rises="Attempts of killed jobs use their GPUs more than those that passed",
                    falls="Attempts of killed jobs use their GPUs less than those that passed",
                    unclear="Attempts of killed and of passed jobs do not clearly differ in it",
                )
            )
    return Result(
        name="gpu_util",
        table=table,
        facts=(*facts, *size.facts("gang", "gang size and mean utilisation of attempts")),
        sentences=tuple(said),
        caveats=(
            "Every GPU-minute counts alike, so long attempts weigh more. A minute belongs to an "
            "attempt from the one in which it started up to its end. Idle (0 %) counts, offline "
            "does not.",
            *unsampled(trace),
        ),
        comparisons=(*beside(trace, "gpu_util", facts), *_notebook(trace)),
    )


def _by_size(means: pd.DataFrame) -> str:
    sizes = means[means["status"].isna() & means["gpus"].notna()].nlargest(SIZES, "gpu_h")
    each = ", ".join(
        f"{mean_pct:.1f} % on {count(int(gpus), 'GPU')}"
        for gpus, mean_pct in sorted(zip(sizes["gpus"], sizes["mean_pct"], strict=True))
    )
    return f"By the gang sizes that hold most GPU time: {each}."


def _sizes(rows: pd.DataFrame) -> list[int | None]:
    """Return the gang size of each row; None: all sizes."""
    return [None if pd.isna(g) else int(g) for g in rows["gpus"]]


def _means(rows: pd.DataFrame) -> list[Fact]:
    """Return the study's cells of sizes and statuses as facts."""
    found = []
    for held, status, mean in zip(_sizes(rows), rows["status"], rows["mean_pct"], strict=True):
        if held in (None, 1, 4, 8, 16):
            size = "all" if held is None else str(held)
            ended = status if isinstance(status, str) else "all"
            said = "all sizes" if held is None else count(held, "GPU")
            found.append(
                Fact(
                    f"mean_{ended}_{size}_pct",
                    mean,
                    f"mean utilisation of GPUs held, {said}, "
                    f"{'however it ended' if ended == 'all' else ended}",
                )
            )
    return found


def _notebook(trace: Trace) -> tuple[Comparison, ...]:
    """Compare the notebook's own definition with the curves that it published."""
    if not is_philly(trace):
        return ()
    ours = trace.answer("notebook_gpu_util").df()
    found = []
    for name, figure in (("gpu_util", 5), ("gpu_util_dedicated", 6)):
        for group in groups(name):
            status, _, gpus = group.rpartition(" ")
            rows = ours[(ours["figure"] == figure) & (ours["gpus"] == int(gpus))]
            rows = rows[rows["status"] == status] if status else rows[rows["status"].isna()]
            if rows.empty:
                continue
            found.append(
                Comparison(
                    what=f"largest gap to the notebook's Figure {figure}, {group} "
                    f"{'GPU' if gpus == '1' else 'GPUs'}",
                    published=0.0,
                    measured=largest_gap_pct(curve(name, group), rows["util_pct"]),
                    unit="points",
                    source=NOTEBOOK,
                    reason="the notebook's definition, computed here: it takes the two clocks for "
                    "one, so its minutes lie seven or eight hours after the job's",
                )
            )
    return tuple(found)


def plot(result: Result) -> Figure:
    """Draw cumulative utilisation, one panel per status, one curve per gang size."""
    table = result.table
    sizes = table[table["status"].isna() & table["gpus"].notna() & (table["percentile"] == 0)]
    if sizes.empty:
        return figures.empty(figures.canvas()[0], "no GPU was sampled while an attempt held it")
    largest = sorted(int(g) for g in sizes.nlargest(SIZES, "gpu_h")["gpus"])
    statuses = figures.ordered(table["status"].dropna().unique(), list(figures.STATUS_COLORS))
    fig, axes = figures.canvas(
        len(statuses), width=2.6 * len(statuses) + 0.6, height=3.6, sharey=True
    )
    colors = figures.gang_sizes(largest)
    for ax, status in zip(axes, statuses, strict=True):
        rows = table[(table["status"] == status) & table["gpus"].isin(largest)]
        rows = rows.assign(size=rows["gpus"].astype(int).astype(str))
        figures.cdf(ax, rows, value="util_pct", by="size", colors=colors, say=gpus)
        n = int(rows.loc[rows["percentile"] == 0, "attempts"].sum())
        ax.set(xlim=(0, 100), xlabel="GPU utilisation, %", ylabel="")
        figures.title(ax, f"{status}  n={n:,}")
    axes[0].set_ylabel("share of GPU-minutes")
    figures.name_lines(axes)
    return fig
