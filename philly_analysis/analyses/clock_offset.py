"""Estimate the clock offset of GPU samples from the job log, by period, at attempt ends.

The estimate needs GPUs that become idle when attempts end. It is undecided if the next attempt
starts at once or samples are few. An offset found in one period need not apply to another.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis.analyses.shared.clock_steps import WINDOW_MIN, clock_steps
from philly_analysis.results import Fact, Result, count, count_note, duration, figures
from philly_analysis.trace import Analysis, Trace

SURE_Z = 6.0
"""Least z of a step that counts: random steps among 1,441 offsets do not reach it."""

SPLIT_GAIN = 30.0
"""Least gain in the sum of squared z for a further period; noise adds about 10."""

AGREE_MIN = 2
"""Largest offset, in minutes, that rounding of the log and job teardown explain."""

_FEWEST_EVENTS = 10
_TABLE = ["from_at", "until_at", "found_min", "event", "offset_min", "events", "step_pct"]
Floats = NDArray[np.float64]
_Falls: TypeAlias = tuple[Floats, Floats, Floats]
"""By offset: fall of utilisation in standard errors, mean step, number of events."""


@dataclass(frozen=True, slots=True)
class Period:
    """A range of weeks with one offset between the clocks.

    Attributes
    ----------
    from_at, until_at
        Start of its first week, and of the week after its last.
    offset_min
        Minutes that the samples' clock is ahead; None without a clear step.
    step_pct
        Mean change of utilisation at attempt ends for that offset, in percentage points.
    z
        Clearest step in standard errors.
    rival_z
        The same for the clearest step more than an hour away from it.
    events
        Attempt ends with samples at that offset.
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
        """Whether the offset is known and negligible."""
        return self.offset_min is not None and abs(self.offset_min) <= AGREE_MIN

    @property
    def dates(self) -> str:
        """First and last day as text."""
        return f"{self.from_at:%Y-%m-%d} to {self.until_at - timedelta(days=1):%Y-%m-%d}"


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
    found = periods(steps)
    known = [(p, p.offset_min) for p in found if p.offset_min is not None]
    offsets = [p.offset_min for p, _ in known] or [None]
    weakest = min((p.z for p, _ in known), default=None)
    agree = "cannot say" if not known else "yes" if all(p.agrees for p, _ in known) else "no"
    table = pd.concat([_curves(steps, p) for p in found]) if found else pd.DataFrame(columns=_TABLE)
    manager, manager_sentence = _manager_starts(trace)
    [(longest,)] = trace.answer(f"longest_{samples}_reading").fetchall()
    unclear = len(found) - len(known)
    clock = f"he clock of the {what} samples"
    return Result(
        "clock_offset" if samples == "gpu" else "host_clock_offset",
        table.reset_index(drop=True),
        (
            Fact("clocks_agree", agree, f"whether the clocks of {what} samples and jobs agree"),
            Fact("periods", len(found), "periods with one offset each"),
            Fact("offset_min", offsets[-1], "minutes that the samples are ahead, last period"),
            Fact("first_offset_min", offsets[0], "the same, first period with a clear step"),
            Fact("weakest_z", weakest, "least clear step that counts, in standard errors"),
            *manager,
        ),
        (
            *(
                (f"From {p.dates} t" if len(found) > 1 else "T")
                + f"{clock} {_difference(offset_min)}. At attempt ends {what} utilisation changes "
                f"by {p.step_pct:+.1f} points there (n = {p.events:,}, z = {p.z:.1f}); other "
                f"offsets reach z = {p.rival_z:.1f}."
                for p, offset_min in known
            ),
            manager_sentence,
        ),
        (
            "An offset counts if utilisation in the ten minutes after attempt ends differs from "
            f"the ten minutes before by at least {SURE_Z:g} standard errors. Offsets up to 12 "
            "hours are tried, with at most 200 ends and 200 starts per week of attempts of at "
            "least ten minutes.",
            f"A sample covers up to {duration(longest.total_seconds())}, which limits the "
            "precision of the offset."
            if longest > timedelta(minutes=AGREE_MIN)
            else "",
            count_note(unclear, "period", " without a clear step: the offset is unknown there."),
            ""
            if found
            else "No attempt ends or starts within twenty minutes of continuous samples.",
        ),
        warnings=tuple(
            f"T{clock} {_difference(offset_min)} from {p.dates}. Findings on utilisation are wrong "
            "there until the samples are ingested with the right clock."
            for p, offset_min in known
            if not p.agrees
        ),
    )


def _difference(offset_min: int) -> str:
    if abs(offset_min) <= AGREE_MIN:
        return f"agrees with that of the jobs (offset {offset_min} min)"
    return f"is {abs(offset_min)} minutes {'ahead of' if offset_min > 0 else 'behind'} the jobs'"


def periods(steps: pd.DataFrame) -> list[Period]:
    """Partition the weeks into the fewest periods with one offset each.

    Dynamic programming maximises the sum over periods of the largest squared z, less `SPLIT_GAIN`
    for each. Only attempt ends count: GPUs become idle at once but busy only after minutes.

    Parameters
    ----------
    steps
        ``week``, ``event``, ``offset_min``, ``events``, ``step_pct``, ``sd_pct``.

    Returns
    -------
    list of Period
        In order of time; empty without attempt ends.
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
    # cumulative sums over weeks, so that any range of weeks is one subtraction
    sums = np.zeros((3, len(weeks) + 1, len(offsets)))
    sums[:, 1:] = np.cumsum([n, n * mean, (n - 1).clip(0) * sd**2 + n * mean**2], axis=1)

    def falls(first: int, last: int) -> _Falls:
        return _z(*(sums[:, last] - sums[:, first]))

    # score of the best partition of the first weeks, with the first week of each period
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for last in range(1, len(weeks) + 1):
        partitions = [
            (
                score + float(np.max(falls(first, last)[0], initial=0)) ** 2 - SPLIT_GAIN,
                [*cuts, first],
            )
            for first, (score, cuts) in enumerate(best)
        ]
        best.append(max(partitions, key=itemgetter(0)))

    def period(first: int, last: int) -> Period:
        from_at, last_week = (pd.Timestamp(weeks[i]).to_pydatetime() for i in (first, last - 1))
        return _period(from_at, last_week + timedelta(weeks=1), offsets, falls(first, last))

    found: list[tuple[int, Period]] = []
    for first, last in pairwise([*best[-1][1], len(weeks)]):
        new = period(first, last)
        # steps of different size may split weeks of one offset
        if found and found[-1][1].offset_min == new.offset_min is not None:
            first, _ = found.pop()
            new = period(first, last)
        found.append((first, new))
    return [p for _, p in found]


def _z(n: Floats, total: Floats, squares: Floats) -> _Falls:
    """Return the fall of utilisation in standard errors, the mean step and the events."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        variance = (squares - n * mean**2) / (n - 1)
        z = np.where((n >= _FEWEST_EVENTS) & (variance > 0), -mean / np.sqrt(variance / n), 0.0)
    return z, np.nan_to_num(mean), n


def _period(
    from_at: datetime, until_at: datetime, offsets: NDArray[np.int_], falls: _Falls
) -> Period:
    z, mean, n = falls
    peak = at = int(np.argmax(z))
    near = np.abs(offsets - offsets[peak])
    rival = float(np.max(z[near > 60], initial=0))
    sure = z[peak] >= SURE_Z and z[peak] > rival
    if sure:
        # z is largest where the window begins to cover the step, which is deepest in place
        here = (near <= WINDOW_MIN) & (n >= n[peak] / 2)
        deepest = float(np.min(mean[here]))
        error = abs(mean[peak] / z[peak])
        # the roundest of the offsets within one standard error
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
    """Return the rank of an offset by plausibility: whole hours, quarters, minutes."""
    return next(i for i, unit in enumerate((60, 15, 5, 1)) if offset_min % unit == 0)


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
        Fact("soonest_job_s", soonest, "least seconds from such a start to its first job"),
    )
    named = f"Job ids contain {count(len(starts), 'start')} of the resource manager, in UTC"
    if soonest < 0:
        return facts, (
            f"{named}; a job's time is {duration(-soonest)} before its manager's start, so the "
            "job log is not in UTC."
        )
    zone = "in UTC" if soonest < 900 else f"not behind UTC, nor ahead by {duration(soonest)}"
    return facts, (
        f"{named}. No job is earlier than its manager's start, and the first follows after "
        f"{duration(soonest)}, so the job log is {zone}."
    )


def plot(result: Result) -> Figure:
    """Draw the change of utilisation over the offset, one panel per period."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no attempt starts or ends among samples")
    clear = table[(table["events"] >= _FEWEST_EVENTS) & table["step_pct"].notna()]
    found = [(day, table[table["from_at"] == day]) for day in sorted(set(clear["from_at"]))]
    if not found:
        return figures.empty(figures.canvas()[0], "too few attempts start or end among samples")
    fig, axes = figures.canvas(1, len(found), height=2.4 * len(found) + 0.6, sharex=True)
    for ax, (first_day, rows) in zip(axes, found, strict=True):
        for event, color in (("start", figures.CYCLE[2]), ("end", figures.ACCENT)):
            curve = rows[(rows["event"] == event) & (rows["events"] >= _FEWEST_EVENTS)]
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
