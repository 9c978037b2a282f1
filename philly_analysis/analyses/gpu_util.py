"""Report GPU utilisation by gang size and job status (ATC'19, Table 3 and Figure 5).

Utilisation is the share of time with a running kernel, not of the GPU's capacity. Means are
weighted by minutes, so few long attempts dominate. Attempts without samples are excluded and
counted.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.exclusions import sample_gaps
from philly_analysis.analyses.shared.gang_sizes import trend
from philly_analysis.analyses.shared.published import is_philly, notebook_gap
from philly_analysis.analyses.shared.texts import TRENDS
from philly_analysis.results import (
    Comparison,
    Fact,
    Result,
    count,
    figures,
    gang_label,
    number,
    percent,
)
from philly_analysis.study import KILLED, PASS, groups
from philly_analysis.trace import Analysis, Trace

SIZES = 4
"""Number of gang sizes with a curve, chosen by GPU time."""

_STUDY_SIZES = (1, 4, 8, 16)


def compute(trace: Trace) -> Result:
    """Compute utilisation by gang size and status, and test its trends."""
    # together, so that the samples are read once
    trace.create(["gpu_util", *(["notebook_gpu_util"] if is_philly(trace) else [])])
    table = trace.answer("gpu_util").df()
    attempts = trace.answer("sampled_attempts")
    size = trend(attempts, "gpus", "mean_pct")
    ended = attempts.filter(f"status in ('{PASS}', '{KILLED}')")
    killed = trend(ended, f"status = '{KILLED}'", "mean_pct")
    means = table[table["percentile"] == 50]
    facts = _means(means)
    sentences = []
    for total in means[means["gpus"].isna() & means["status"].isna()].to_dict("records"):
        facts += [
            Fact("gpu_h", total["gpu_h"], "sampled GPU hours of attempts"),
            Fact("idle_pct", total["idle_pct"], "share of the sampled GPU hours at exactly 0 %"),
            Fact("median_pct", total["util_pct"], "median utilisation over GPU-minutes"),
        ]
        sentences = [
            f"Mean utilisation is {total['mean_pct']:.1f} % over {number(total['gpu_h'])} sampled "
            f"GPU hours of attempts; GPUs were idle for {percent(total['idle_pct'])} of that time.",
            _by_size(means),
            size.sentence(**TRENDS["gpu_util"]),
        ]
        if len(ended.unique("status")) > 1:
            sentences.append(killed.sentence(**TRENDS["gpu_util_killed"]))
    return Result(
        "gpu_util",
        table,
        (
            *facts,
            *size.facts("gang", "gang size and mean utilisation of attempts"),
            *killed.facts("killed", "being killed rather than passed and mean utilisation"),
        ),
        sentences,
        (
            "Every GPU-minute has equal weight, so long attempts count more. An attempt has whole "
            "minutes, from the minute of its start to its end. Idle GPU-minutes (0 %) count, "
            "offline GPU-minutes do not.",
            *sample_gaps(trace),
        ),
        _notebook_gaps(trace),
    )


def _by_size(means: pd.DataFrame) -> str:
    sizes = means[means["status"].isna() & means["gpus"].notna()].nlargest(SIZES, "gpu_h")
    shown = ", ".join(
        f"{mean_pct:.1f} % on {count(int(gpus), 'GPU')}"
        for gpus, mean_pct in sorted(zip(sizes["gpus"], sizes["mean_pct"], strict=True))
    )
    return f"Gang sizes with most GPU time: {shown}."


def _means(rows: pd.DataFrame) -> list[Fact]:
    """Return the mean utilisation of the study's gang sizes and statuses as facts."""
    facts = []
    for gpus, status, mean in zip(rows["gpus"], rows["status"], rows["mean_pct"], strict=True):
        if pd.notna(gpus) and gpus not in _STUDY_SIZES:
            continue
        size, sizes = ("all", "all sizes") if pd.isna(gpus) else (f"{gpus:.0f}", f"{gpus:.0f} GPUs")
        status = status if isinstance(status, str) else "all"
        statuses = "all statuses" if status == "all" else status
        meaning = f"mean utilisation, {sizes}, {statuses}"
        facts.append(Fact(f"mean_{status}_{size}_pct", mean, meaning))
    return facts


def _notebook_gaps(trace: Trace) -> list[Comparison]:
    """Compare the notebook's definition on this trace with the curves that it published."""
    if not is_philly(trace):
        return []
    ours = trace.answer("notebook_gpu_util").df()
    comparisons = []
    for name, figure in (("gpu_util", 5), ("gpu_util_dedicated", 6)):
        for group in groups(name):
            status, _, gpus = group.rpartition(" ")
            rows = ours[(ours["figure"] == figure) & (ours["gpus"] == int(gpus))]
            rows = rows[rows["status"] == status] if status else rows[rows["status"].isna()]
            if len(rows):
                what = f"largest gap to the notebook's Figure {figure}, {group} "
                what += "GPU" if gpus == "1" else "GPUs"
                reason = (
                    "the notebook's definition, computed here: it ignores the time zones of the "
                    "two clocks, so its minutes are seven or eight hours after the job's"
                )
                comparisons.append(notebook_gap(name, group, rows["util_pct"], what, reason))
    return comparisons


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
    colors = figures.gang_size_colors(largest)
    for ax, status in zip(axes, statuses, strict=True):
        rows = table[(table["status"] == status) & table["gpus"].isin(largest)]
        rows = rows.assign(size=rows["gpus"].astype(int).astype(str))
        figures.cdf(ax, rows, value="util_pct", by="size", colors=colors, label=gang_label)
        n = int(rows.loc[rows["percentile"] == 0, "attempts"].sum())
        ax.set(xlim=(0, 100), xlabel="GPU utilisation, %", ylabel="")
        figures.title(ax, f"{status}  n={n:,}")
    axes[0].set_ylabel("share of GPU-minutes")
    figures.label_lines(axes)
    return fig


ANALYSIS = Analysis(
    name="gpu_util",
    question="How busy are the GPUs of jobs, by gang size and job status?",
    needs=("jobs", "attempts", "placements", "machines", "gpu_samples"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_use_bins",
)
