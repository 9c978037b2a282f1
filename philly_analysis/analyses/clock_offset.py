"""Estimate the clock offset of GPU samples from the job log, by period, at attempt ends.

The estimate needs GPUs that become idle when attempts end. The offset is undecided if the next
attempt starts at once or samples are few. An offset found in one period need not apply to another.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.clock_steps import clock_steps
from philly_analysis.analyses.shared.offset_periods import (
    AGREE_MIN,
    FEWEST_EVENTS,
    SURE_Z,
    Period,
    periods,
)
from philly_analysis.results import Fact, Result, count, count_note, duration, figures
from philly_analysis.trace import Analysis, Trace

_TABLE = ["from_at", "until_at", "found_min", "event", "offset_min", "events", "step_pct"]


def compute(trace: Trace) -> Result:
    """Estimate the offset per period at which GPUs become idle when attempts end."""
    return estimate_offset(trace, "gpu", "GPU")


def estimate_offset(trace: Trace, samples: Literal["gpu", "host"], what: str) -> Result:
    """Estimate the offset of one kind of samples.

    Parameters
    ----------
    what
        Device whose utilisation is sampled, in words: ``GPU`` or ``CPU``.
    """
    steps = clock_steps(trace, f"{samples}_clock_readings")
    offset_periods = periods(steps)
    clear = [p for p in offset_periods if p.offset_min is not None]
    curves = [_curves(steps, p) for p in offset_periods]
    table = pd.concat(curves) if curves else pd.DataFrame(columns=_TABLE)
    manager, manager_sentence = _manager_starts(trace)
    return Result(
        "clock_offset" if samples == "gpu" else "host_clock_offset",
        table.reset_index(drop=True),
        (*_facts(offset_periods, clear, what), *manager),
        (*_sentences(clear, what, several=len(offset_periods) > 1), manager_sentence),
        _caveats(trace, samples, offset_periods),
        warnings=tuple(
            f"The clock of the {what} samples {_difference(p)} from {p.dates}. Findings on "
            "utilisation in this period are wrong until the samples are ingested with the right "
            "clock."
            for p in clear
            if not p.agrees
        ),
    )


def _facts(
    offset_periods: Sequence[Period], clear: Sequence[Period], what: str
) -> tuple[Fact, ...]:
    agree = "cannot say" if not clear else "yes" if all(p.agrees for p in clear) else "no"
    offsets = [p.offset_min for p in clear] or [None]
    weakest = min((p.z for p in clear), default=None)
    return (
        Fact("clocks_agree", agree, f"whether the clocks of {what} samples and jobs agree"),
        Fact("periods", len(offset_periods), "periods with one offset each"),
        Fact("offset_min", offsets[-1], "minutes that the samples are ahead, last period"),
        Fact(
            "first_offset_min",
            offsets[0],
            "minutes that the samples are ahead, first period with a clear step",
        ),
        Fact("weakest_z", weakest, "smallest clear step over the periods, in standard errors"),
    )


def _sentences(clear: Sequence[Period], what: str, *, several: bool) -> Iterator[str]:
    for p in clear:
        clock = f"he clock of the {what} samples {_difference(p)}"
        yield (
            f"{f'From {p.dates} t' if several else 'T'}{clock}. At this offset {what} utilisation "
            f"changes by {p.step_pct:+.1f} points when attempts end (n = {p.events:,}, "
            f"z = {p.z:.1f}). Other offsets reach z = {p.rival_z:.1f}."
        )


def _caveats(trace: Trace, samples: str, offset_periods: Sequence[Period]) -> tuple[str, ...]:
    [(longest,)] = trace.answer(f"longest_{samples}_reading").fetchall()
    unclear = sum(p.offset_min is None for p in offset_periods)
    return (
        "An offset counts if utilisation in the ten minutes after attempt ends differs from the "
        f"ten minutes before by at least {SURE_Z:g} standard errors. Offsets up to 12 hours are "
        "tried, with at most 200 ends and 200 starts per week of attempts of at least ten minutes.",
        f"A sample covers up to {duration(longest.total_seconds())}, which limits the precision "
        "of the offset."
        if longest > timedelta(minutes=AGREE_MIN)
        else "",
        count_note(unclear, "period", " without a clear step, and so without a known offset."),
        ""
        if offset_periods
        else "No attempt ends or starts within twenty minutes of continuous samples.",
    )


def _difference(period: Period) -> str:
    offset_min = period.offset_min or 0
    if period.agrees:
        return f"agrees with the clock of the jobs (offset {offset_min} min)"
    return (
        f"is {abs(offset_min)} minutes {'ahead of' if offset_min > 0 else 'behind'} the clock of "
        "the jobs"
    )


def _curves(steps: pd.DataFrame, period: Period) -> pd.DataFrame:
    """Return the mean steps of one period: a row per event and offset."""
    rows = steps[(steps["week"] >= period.from_at) & (steps["week"] < period.until_at)]
    rows = rows.assign(change=rows["events"] * rows["step_pct"])
    total = rows.groupby(["event", "offset_min"], as_index=False)[["events", "change"]].sum()
    return total.assign(
        step_pct=total["change"] / total["events"],
        from_at=period.from_at,
        until_at=period.until_at,
        found_min=None if period.offset_min is None else float(period.offset_min),
    )[_TABLE]


def _manager_starts(trace: Trace) -> tuple[tuple[Fact, ...], str]:
    """Check the job log against its application ids, which contain the manager's start (UTC)."""
    starts = trace.answer("manager_starts").df()
    if starts.empty:
        return (), ""
    soonest = float(starts["lag_s"].min())
    facts = (
        Fact("manager_starts", len(starts), "starts of the resource manager in job ids"),
        Fact(
            "soonest_job_s",
            soonest,
            "fewest seconds from a start of the resource manager to its first job",
        ),
    )
    named = f"Job ids contain {count(len(starts), 'start')} of the resource manager, in UTC"
    if soonest < 0:
        return facts, (
            f"{named}. A job's submission is {duration(-soonest)} before the start of its "
            "resource manager, so the job log is not in UTC."
        )
    zone = "in UTC" if soonest < 900 else f"not behind UTC, nor ahead by {duration(soonest)}"
    return facts, (
        f"{named}. No job is earlier than the start of its resource manager, and the first job "
        f"follows after {duration(soonest)}, so the job log is {zone}."
    )


def plot(result: Result) -> Figure:
    """Draw the change of utilisation over the offset, one panel per period."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no attempt starts or ends among samples")
    clear = table[(table["events"] >= FEWEST_EVENTS) & table["step_pct"].notna()]
    drawn_periods = [(day, table[table["from_at"] == day]) for day in sorted(set(clear["from_at"]))]
    if not drawn_periods:
        return figures.empty(figures.canvas()[0], "too few attempts start or end among samples")
    fig, axes = figures.canvas(
        1, len(drawn_periods), height=2.4 * len(drawn_periods) + 0.6, sharex=True
    )
    for ax, (first_day, rows) in zip(axes, drawn_periods, strict=True):
        for event, color in (("start", figures.CYCLE[2]), ("end", figures.ACCENT)):
            curve = rows[(rows["event"] == event) & (rows["events"] >= FEWEST_EVENTS)]
            if curve.empty:
                continue
            label = f"where attempts {event}  n≤{int(curve['events'].max()):,}"
            hours = curve["offset_min"] / 60
            ax.plot(hours, curve["step_pct"], color=color, linewidth=1.1, label=label)
        ax.axhline(0, color=figures.MUTED, linewidth=0.8)
        offset = rows["found_min"].iloc[0]
        if pd.notna(offset):
            label = f"samples {offset:+.0f} min"
            ax.axvline(offset / 60, color=figures.CYCLE[1], linewidth=1, ls="--", label=label)
        last_day = rows["until_at"].iloc[0] - pd.Timedelta(days=1)
        figures.title(ax, f"{first_day:%Y-%m-%d} to {last_day:%Y-%m-%d}")
        ax.set_ylabel("change, points")
        figures.label_lines(ax)
    axes[-1].set_xticks(range(-12, 13, 2))
    axes[-1].set_xlabel("assumed offset of the samples' clock, hours (positive: ahead)")
    return fig


ANALYSIS = Analysis(
    name="clock_offset",
    question="Do the clocks of the GPU samples and the job log agree?",
    needs=("jobs", "attempts", "placements", "gpu_samples"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_clock_readings",
)
