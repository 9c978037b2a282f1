"""Whether the GPU samples keep the job log's time, told by utilisation where attempts end.

It needs GPUs that fall idle where attempts end. Where the next attempt starts at once, or samples
are few, there is no step to find, and it says so; an offset found in one period need not hold in
another.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis.analyses.clock_steps import WINDOW_MIN, clock_steps
from philly_analysis.results import Fact, Result, count, duration, figures
from philly_analysis.trace import Trace

QUESTION = "Do the GPU samples and the job log keep the same time?"
NEEDS = ("jobs", "attempts", "placements", "gpu_samples")

SURE_Z = 6.0
"""A step this many standard errors from none is no accident among 1,441 offsets tried."""

SPLIT_GAIN = 30.0
"""What a further period must add to the sum of squared z: noise alone adds about 10."""

AGREE_MIN = 2
"""Offsets up to this many minutes are within what a log's rounding and a job's tear-down blur."""

_FEWEST_EVENTS = 10
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Period:
    """A run of weeks over which the samples' clock keeps one distance from the jobs'.

    Attributes
    ----------
    from_at, until_at
        First moment of its first week, and of the week after its last.
    offset_min
        Minutes that the samples' clock is ahead; None where no step stands out.
    step_pct
        Mean change of utilisation at the ends of attempts at that offset, in points.
    z
        How many standard errors the clearest step is from none.
    rival_z
        The same for the clearest step more than an hour away from it.
    events
        Ends watched at that offset.
    """

    from_at: datetime
    until_at: datetime
    offset_min: int | None
    step_pct: float
    z: float
    rival_z: float
    events: int

    @property
    def agrees(self) -> bool:
        """True when the two clocks are shown to agree."""
        return self.offset_min is not None and abs(self.offset_min) <= AGREE_MIN

    @property
    def dates(self) -> str:
        """First and last day."""
        return f"{self.from_at:%Y-%m-%d} to {self.until_at - timedelta(days=1):%Y-%m-%d}"


def compute(trace: Trace) -> Result:
    """Find, by period, the offset at which GPUs fall idle where attempts end."""
    return answer(trace, "gpu", "GPU")


def answer(trace: Trace, samples: Literal["gpu", "host"], what: str) -> Result:
    """Find the offset of one kind of samples.

    Parameters
    ----------
    what
        Whose utilisation it watches, as a word: ``GPU`` or ``CPU``.
    """
    steps = clock_steps(trace, f"{samples}_clock_readings")
    found = periods(steps)
    decided = [p for p in found if p.offset_min is not None]
    wrong = [p for p in decided if not p.agrees]
    table = pd.concat([_pooled(steps, p) for p in found]) if found else _pooled(steps, None)
    manager, manager_said = _manager(trace)
    [(longest,)] = trace.answer(f"longest_{samples}_reading").fetchall()
    said = [
        (
            f"From {p.dates} the {what} samples' clock "
            if len(found) > 1
            else f"The {what} samples' clock "
        )
        + f"{_apart(p.offset_min)}: {what} utilisation changes by {p.step_pct:+.1f} points there "
        f"where attempts end (n = {p.events:,}, z = {p.z:.1f}; elsewhere at most {p.rival_z:.1f})."
        for p in decided
        if p.offset_min is not None
    ]
    unsure = len(found) - len(decided)
    return Result(
        name="clock_offset" if samples == "gpu" else "host_clock_offset",
        table=table.reset_index(drop=True),
        facts=(
            Fact("clocks_agree", _verdict(found), f"whether {what} samples and jobs keep one time"),
            Fact("periods", len(found), "periods with one offset each"),
            Fact(
                "offset_min",
                decided[-1].offset_min if decided else None,
                "minutes that the samples' clock is ahead, in the last period that shows it",
            ),
            Fact(
                "first_offset_min",
                decided[0].offset_min if decided else None,
                "the same, in the first period that shows it",
            ),
            Fact(
                "weakest_z",
                min((p.z for p in decided), default=None),
                "standard errors from none of the least clear step that counts",
            ),
            *manager,
        ),
        sentences=(*said, *manager_said),
        caveats=(
            f"An offset counts when the change of utilisation, ten minutes after less ten before, "
            f"is {SURE_Z:g} standard errors from none; offsets of 12 hours either way are tried, "
            "on at most 200 ends and 200 starts a week of attempts of ten minutes or more.",
            *(
                (
                    f"A sample stands for up to {duration(longest.total_seconds())}: an offset is "
                    "known to within as much.",
                )
                if longest > timedelta(minutes=AGREE_MIN)
                else ()
            ),
            *(
                (f"{count(unsure, 'period')} without a clear step: nothing can be said there.",)
                if unsure
                else ()
            ),
            *(
                ("No attempt ends or starts where there are twenty minutes of samples around.",)
                if not found
                else ()
            ),
        ),
        warnings=tuple(
            f"The clock of the {what} samples {_apart(p.offset_min)} from {p.dates}. "
            "What this page says of utilisation is wrong there until they are ingested with the "
            "right clock."
            for p in wrong
            if p.offset_min is not None
        ),
    )


def _apart(offset_min: int) -> str:
    if abs(offset_min) <= AGREE_MIN:
        return f"agrees with the jobs' (offset {offset_min} min)"
    side = "ahead of" if offset_min > 0 else "behind"
    return f"is {abs(offset_min)} minutes {side} the jobs'"


def _verdict(found: list[Period]) -> str:
    decided = [p for p in found if p.offset_min is not None]
    if not decided:
        return "cannot say"
    return "yes" if all(p.agrees for p in decided) else "no"


def periods(steps: pd.DataFrame) -> list[Period]:
    """Cut the weeks into the fewest periods that one offset each explains.

    Weeks are pooled, and cut where the sum over periods of the largest squared z grows by more
    than `SPLIT_GAIN`; only the ends of attempts decide, since GPUs fall idle at once but take
    minutes to become busy.

    Parameters
    ----------
    steps
        ``week``, ``event``, ``offset_min``, ``events``, ``step_pct``, ``sd_pct``.

    Returns
    -------
    list of Period
        In order of time; empty without any end.
    """
    ends = steps[steps["event"] == "end"]
    if ends.empty:
        return []
    weeks = sorted(ends["week"].unique())
    offsets = np.unique(ends["offset_min"].to_numpy(int))

    def grid(column: str) -> Floats:
        wide = ends.pivot_table(index="week", columns="offset_min", values=column)
        return wide.reindex(index=weeks, columns=offsets).to_numpy(float, na_value=0.0)

    n, mean, sd = grid("events"), grid("step_pct"), grid("sd_pct")
    # running sums over weeks, so that any run of weeks is one subtraction
    sums = np.zeros((3, len(weeks) + 1, len(offsets)))
    sums[:, 1:] = np.cumsum([n, n * mean, (n - 1).clip(0) * sd**2 + n * mean**2], axis=1)

    def fall(first: int, last: int) -> tuple[Floats, Floats, Floats]:
        return _z(*(sums[:, last] - sums[:, first]))

    best = [0.0]
    cuts: list[int] = []
    for last in range(1, len(weeks) + 1):
        scores = [
            best[first] + float(np.max(fall(first, last)[0], initial=0)) ** 2 - SPLIT_GAIN
            for first in range(last)
        ]
        cuts.append(int(np.argmax(scores)))
        best.append(scores[cuts[-1]])
    runs: list[tuple[int, int]] = []
    last = len(weeks)
    while last > 0:
        runs.insert(0, (cuts[last - 1], last))
        last = cuts[last - 1]

    def period(first: int, last: int) -> Period:
        from_at, last_week = (pd.Timestamp(weeks[i]).to_pydatetime() for i in (first, last - 1))
        until_at = last_week + timedelta(weeks=1)
        return _period(from_at, until_at, offsets, *fall(first, last))

    found: list[tuple[int, Period]] = []
    for first, last in runs:
        new = period(first, last)
        # steps of different depth part weeks that one offset joins
        if found and found[-1][1].offset_min == new.offset_min is not None:
            first, _ = found.pop()
            new = period(first, last)
        found.append((first, new))
    return [p for _, p in found]


def _z(n: Floats, total: Floats, squares: Floats) -> tuple[Floats, Floats, Floats]:
    """Fall of utilisation in standard errors, the mean step, and the events, by offset."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        variance = (squares - n * mean**2) / (n - 1)
        z = np.where((n >= _FEWEST_EVENTS) & (variance > 0), -mean / np.sqrt(variance / n), 0.0)
    return z, np.nan_to_num(mean), n


def _period(
    from_at: datetime,
    until_at: datetime,
    offsets: NDArray[np.int_],
    z: Floats,
    mean: Floats,
    n: Floats,
) -> Period:
    peak = int(np.argmax(z))
    near = np.abs(offsets - offsets[peak])
    rival = float(np.max(z[near > 60], initial=0))
    sure = z[peak] >= SURE_Z and z[peak] > rival
    at = peak
    if sure:
        # z peaks where the window slides into the step; the step itself is deepest in place
        here = (near <= WINDOW_MIN) & (n >= n[peak] / 2)
        deepest = float(np.min(mean[here]))
        error = abs(mean[peak] / z[peak])
        # of the offsets that fit as well, within one standard error, the roundest
        fits = np.flatnonzero(here & (mean <= deepest + error))
        at = min(map(int, fits), key=lambda i: (_roundness(int(offsets[i])), mean[i]))
    return Period(
        from_at=from_at,
        until_at=until_at,
        offset_min=int(offsets[at]) if sure else None,
        step_pct=float(mean[at]),
        z=float(z[peak]),
        rival_z=rival,
        events=int(n[at]),
    )


def _roundness(offset_min: int) -> int:
    """Order offsets by how likely a clock is set so: whole hours, then quarters, then minutes."""
    return next(i for i, unit in enumerate((60, 15, 5, 1)) if offset_min % unit == 0)


def _pooled(steps: pd.DataFrame, period: Period | None) -> pd.DataFrame:
    """Curves of one period: a row per event and offset."""
    rows = steps.iloc[:0]
    if period is not None:
        rows = steps[(steps["week"] >= period.from_at) & (steps["week"] < period.until_at)]
    total = (
        rows.assign(change=rows["events"] * rows["step_pct"])
        .groupby(["event", "offset_min"], as_index=False)[["events", "change"]]
        .sum()
    )
    total["step_pct"] = total["change"] / total["events"]
    total["from_at"] = period.from_at if period else None
    total["until_at"] = period.until_at if period else None
    total["found_min"] = (
        float(period.offset_min) if period and period.offset_min is not None else None
    )
    return total[["from_at", "until_at", "found_min", "event", "offset_min", "events", "step_pct"]]


def _manager(trace: Trace) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
    """Ask the second witness: application ids that carry their manager's start as an epoch."""
    starts = trace.answer("manager_starts").df()
    if starts.empty:
        return (), ()
    soonest = float(starts["lag_s"].min())
    facts = (
        Fact("manager_starts", len(starts), "starts of the resource manager that job ids name"),
        Fact("soonest_job_s", soonest, "seconds from such a start to its first job's stamp"),
    )
    named = f"{count(len(starts), 'start')} of the resource manager, in UTC"
    if soonest < 0:
        return facts, (
            f"Job ids name {named}; a job is stamped {duration(-soonest)} before its manager "
            "started, so the job log's clock is not UTC.",
        )
    return facts, (
        f"Job ids name {named}: no job is stamped before its manager started, and the soonest "
        f"follows by {duration(soonest)}, so the job log's clock is "
        + ("UTC." if soonest < 900 else f"not behind UTC, nor ahead by {duration(soonest)}."),
    )


def plot(result: Result) -> Figure:
    """Draw the change of utilisation against the offset tried, one panel per period."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no attempt starts or ends among samples")
    told = table[(table["events"] >= _FEWEST_EVENTS) & table["step_pct"].notna()]
    found = [(day, table[table["from_at"] == day]) for day in sorted(set(told["from_at"]))]
    if not found:
        return figures.empty(figures.canvas()[0], "too few attempts start or end among samples")
    fig, axes = figures.canvas(1, len(found), height=2.4 * len(found) + 0.6, sharex=True)
    for ax, (_, rows) in zip(axes, found, strict=True):
        for event, color in (("start", figures.CYCLE[2]), ("end", figures.ACCENT)):
            curve = rows[(rows["event"] == event) & (rows["events"] >= _FEWEST_EVENTS)]
            if curve.empty:
                continue
            most = int(curve["events"].max())
            ax.plot(
                curve["offset_min"] / 60,
                curve["step_pct"],
                color=color,
                linewidth=1.1,
                label=f"where attempts {event}  n≤{most:,}",
            )
        ax.axhline(0, color=figures.MUTED, linewidth=0.8)
        offset = rows["found_min"].iloc[0]
        if pd.notna(offset):
            ax.axvline(
                offset / 60,
                color=figures.CYCLE[1],
                linewidth=1,
                linestyle="--",
                label=f"samples {offset:+.0f} min",
            )
        days = rows["from_at"].iloc[0], rows["until_at"].iloc[0] - pd.Timedelta(days=1)
        figures.title(ax, " to ".join(f"{day:%Y-%m-%d}" for day in days))
        ax.set_ylabel("change, points")
        figures.name_lines(ax)
    axes[-1].set_xticks(range(-12, 13, 2))
    axes[-1].set_xlabel("samples' clock taken to be ahead of the jobs' by, hours")
    return fig
