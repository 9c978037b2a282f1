"""Draw advice: gains and who loses, waits before and after, and the queue over time."""

from matplotlib.figure import Figure

from philly_analysis.experiments.advice.baseline import Baseline
from philly_analysis.experiments.advice.gains import BLOCKS
from philly_analysis.results import Paired, Result, gang_label
from philly_analysis.results.figures import (
    CYCLE,
    HELPS,
    INK,
    MUTED,
    amount_axis,
    canvas,
    effect_color,
    empty,
    forest,
    hbars,
    hours_or_minutes,
    label_lines,
    legend,
    title,
)


def frontier(result: Result) -> Figure:
    """Draw the gain of each lever, and how many jobs complete later."""
    table = result.table
    if table.empty:
        return empty(canvas()[0], "no lever applies")
    fig, [gain_axes, later_axes] = canvas(
        2, width=11.6, height=1.0 + 0.3 * len(table), gridspec_kw={"width_ratios": [5, 3]}
    )
    spans = table[["value_h", "value_h_low", "value_h_high"]].itertuples(index=False, name=None)
    gains = [Paired(mean, low, high, BLOCKS) for mean, low, high in spans]
    rows = zip(table["lever"], gains, strict=True)
    forest(gain_axes, [(name, gain, effect_color(gain, more=True)) for name, gain in rows])
    amount_axis(gain_axes, "GPU hours a month", axis="x")
    title(gain_axes, "gain, and where nine of ten months lie")
    shown = table.iloc[::-1]
    hbars(
        later_axes,
        [""] * len(shown),
        shown["later_jobs"],
        [
            f"{j:,} of {u:,} users" if j else "none"
            for j, u in zip(shown["later_jobs"], shown["later_users"], strict=True)
        ],
        color=CYCLE[4],
        space=1.6,
        height=0.6,
    )
    amount_axis(later_axes, "jobs that complete later or lose work", axis="x")
    title(later_axes, "who loses")
    return fig


def waits_figure(result: Result) -> Figure:
    """Draw the mean wait of each gang size before and after a lever."""
    table = result.table
    if "mean_before_s" not in table or table.empty:
        return empty(canvas()[0], "waits are not known")
    if not table[["mean_before_s", "mean_after_s"]].any(axis=None):
        return empty(canvas(width=4.6, height=1.0)[0], "no job waits")
    fig, [ax] = canvas(width=4.6, height=1.9)
    longest_s = float(table[["mean_before_s", "mean_after_s"]].to_numpy().max())
    unit, unit_s = hours_or_minutes(longest_s)
    at = range(len(table))
    for nth, (column, label, color) in enumerate(
        (("mean_before_s", "now", MUTED), ("mean_after_s", "after", HELPS))
    ):
        waits = table[column] / unit_s
        ax.barh([i + 0.2 - 0.4 * nth for i in at][::-1], waits, 0.36, color=color, label=label)
    ax.set_yticks(list(at)[::-1], [gang_label(g) for g in table["gang"]], fontsize=8)
    ax.set_xlabel(f"mean wait, {unit}")
    legend(ax, beneath=True, ncols=2)
    return fig


def queue_figure(baseline: Baseline) -> Figure:
    """Draw the GPUs waited for over time, as recorded and as replayed."""
    fig, [ax] = canvas(width=9.6, height=2.6)
    days = (baseline.queue["at_s"] - baseline.queue["at_s"].min()) / 86_400
    for column, color in (("recorded", INK), ("replayed", CYCLE[1])):
        ax.plot(days, baseline.queue[column], color=color, lw=1.2, label=column)
    ax.set(xlabel="days", ylabel="GPUs waited for")
    ax.set_ylim(0)
    label_lines(ax)
    return fig
