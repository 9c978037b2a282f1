"""Advise a cluster: fit its scheduling, apply each lever, and order the levers by their gain."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import polars as pl

from philly_analysis.analyses import completeness
from philly_analysis.errors import InputError
from philly_analysis.experiments.advice.baseline import Baseline, fit_baseline
from philly_analysis.experiments.advice.gains import MONTH_D, Gain, gain_of, over_drawn
from philly_analysis.experiments.advice.levers import (
    LEVERS,
    Assumptions,
    Change,
    Lever,
    combined,
)
from philly_analysis.experiments.advice.resampling import drawn_month
from philly_analysis.experiments.advice.scenario import (
    Known,
    Scenario,
    outcome,
    period_of,
    recorded_scenario,
)
from philly_analysis.parallel import map_ordered
from philly_analysis.results import FEWEST_PAIRS
from philly_analysis.trace import Trace
from philly_analysis.workload import Workload, demand_of

CARDS = 3
"""Levers that are recommended, moved and combined."""

MOVED = (0.5, 2.0)
"""Factors on the assumption of a recommended lever."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A lever, or several together, with its gain.

    Attributes
    ----------
    moved
        The assumption that differs from the given ones, as text; empty: none.
    """

    name: str
    title: str
    gain: Gain
    moved: str = ""
    assumes: str = ""


def clear(priced: Priced) -> bool:
    """Return whether a lever frees GPU hours or waiting, and costs neither.

    One interval is above 0, and none is below. By the waiting alone many levers that free GPU
    hours would be unclear, as waits vary more between months.
    """
    gain = priced.gain
    parts = [gain.gpu_h] if gain.wait_h is None else [gain.gpu_h, gain.wait_h]
    costs = gain.value_h.mean <= 0 or any(part.high < 0 for part in parts)
    return not costs and any(part.low > 0 for part in parts)


def disputed_levers(baseline: Baseline, known: Known, assumed: Assumptions) -> dict[str, str]:
    """Return the scheduling levers that a near tie of the policy lacks, with its name."""
    return {
        lever.name: rival
        for rival, scenario in baseline.rivals.items()
        for lever in LEVERS
        if lever.scheduling and lever.apply(scenario, known, assumed) is None
    }


@dataclass(frozen=True, slots=True)
class Advice:
    """What a cluster could change, best first.

    Attributes
    ----------
    baseline
        Its own scheduling; None: too few jobs with known waits.
    scenario
        The jobs and machines as they are.
    gpu_h, wait_h
        GPU hours that jobs run, and hours that they wait, a month.
    levers
        Every lever that applies, in order.
    best
        The recommended ones, with intervals over drawn months if waits are replayed. They need no
        purchase, have a clear gain, and are not disputed.
    disputed
        Levers that a near tie of the baseline's policy lacks, with the name of that policy.
    combined
        The best two and three together.
    moved
        Recommended levers under other assumptions.
    withheld
        Why scheduling levers are withheld; empty: they are not.
    """

    baseline: Baseline | None
    scenario: Scenario
    gpu_h: float
    wait_h: float | None
    levers: Sequence[Priced]
    best: Sequence[Priced]
    disputed: Mapping[str, str]
    combined: Sequence[Priced]
    moved: Sequence[Priced]
    withheld: str


def advise(trace: Trace, executor: Executor, assumed: Assumptions, months: int) -> Advice:
    """Price every lever on a trace's jobs.

    Parameters
    ----------
    months
        Months that are drawn for the intervals of the recommended levers; 0: intervals are those
        of blocks of the log, also where waits are correlated for longer.
    executor
        Where replays run; results are equal on any.

    Raises
    ------
    InputError
        The trace has no machines with GPUs, or no jobs that these can run; or there are one or two
        months, or fewer than none.
    """
    if months < 0 or 0 < months < FEWEST_PAIRS:
        raise InputError(f"months is {months}; give 0, or {FEWEST_PAIRS} or more for intervals.")
    scenario, known = recorded_scenario(trace)
    if not scenario.pools:
        raise InputError(
            "The trace has no jobs with known run times on known machines, so that there is "
            "nothing to advise on. Ingest a log with its machines."
        )
    workload = Workload.from_trace(trace)
    recorded = demand_of(workload).jobs.drop_nulls("wait_s")
    baseline = fit_baseline(
        scenario,
        dict(recorded.filter(pl.col("wait_s") >= 0).select("job_id", "wait_s").iter_rows()),
        _start_up_s(trace),
        executor,
        quotas=workload.virtual_clusters.height > 0,
    )
    withheld = _why_withheld(trace, baseline)
    replayed = baseline.replayed if baseline is not None and not withheld else None
    disputed: dict[str, str] = {}
    if baseline is not None and replayed is not None:
        scenario = baseline.scenario
        disputed = disputed_levers(baseline, known, assumed)
    pricing = Pricing(scenario, known, assumed, replayed, executor)
    priced = pricing.levers(LEVERS)
    tested = pricing.tested([each for each in priced if each.name not in disputed], months)
    best = [each for each in tested if clear(each)]
    begin_s, end_s = period_of(scenario.jobs)
    month = MONTH_D * 86_400 / max(end_s - begin_s, 1.0)
    ran_h = sum(spec.gpu_s for spec in scenario.jobs if spec.submit_s >= begin_s) / 3600 * month
    return Advice(
        baseline,
        scenario,
        ran_h,
        None if replayed is None else float(replayed["wait_s"].sum()) / 3600 * month,
        [next((t for t in tested if t.name == each.name), each) for each in priced],
        best,
        disputed,
        pricing.together(best),
        pricing.moved(best),
        withheld,
    )


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices levers on a scenario; waits need its replay.

    Attributes
    ----------
    replayed
        The outcome of the scenario's replay; None: waits are not known.
    """

    scenario: Scenario
    known: Known
    assumed: Assumptions
    replayed: pl.DataFrame | None
    executor: Executor

    def levers(self, levers: Sequence[Lever]) -> list[Priced]:
        """Price levers, the greatest gain first."""
        allowed = [lever for lever in levers if self.replayed is not None or not lever.scheduling]
        priced = self._price([((lever,), self.assumed, "") for lever in allowed])
        return sorted(priced, key=lambda p: -p.gain.value_h.mean)

    def tested(self, priced: Sequence[Priced], months: int) -> list[Priced]:
        """Return levers until three have a clear gain, with intervals over drawn months.

        Levers with a purchase, and those without a clear gain over the log, are excluded.
        """
        left = [p for p in priced if clear(p) and _BY_NAME[p.name].changes != "machines"]
        if not months or self.replayed is None:
            return left[:CARDS]
        found: list[Priced] = []
        while left and (lack := CARDS - sum(map(clear, found))) > 0:
            found += self.over_months(left[:lack], months)
            left = left[lack:]
        return found

    def over_months(self, best: Sequence[Priced], months: int) -> list[Priced]:
        """Return levers with intervals over drawn months."""
        drawn = [drawn_month(self.scenario, self.known, seed) for seed in range(months)]
        changes = [
            [
                _BY_NAME[each.name].apply(month, known, self.assumed) or Change(month)
                for each in best
            ]
            for month, known in drawn
        ]
        scenarios = [
            scenario
            for (month, _), of_month in zip(drawn, changes, strict=True)
            for scenario in (month, *(change.scenario for change in of_month))
        ]
        replays = iter(list(map_ordered(self.executor, outcome, scenarios, ahead=64)))
        gains: dict[str, list[Gain]] = {}
        for (month, _), of_month in zip(drawn, changes, strict=True):
            before = next(replays)
            for each, change in zip(best, of_month, strict=True):
                after = next(replays)
                gain = gain_of(month, change, (before, after), self.assumed.wait_weight)
                gains.setdefault(each.name, []).append(gain)
        return [replace(each, gain=over_drawn(each.gain, gains[each.name])) for each in best]

    def together(self, best: Sequence[Priced]) -> list[Priced]:
        """Price the best two and three levers, of each kind that excludes others the best."""
        apart: dict[str, Lever] = {}
        for lever in (_BY_NAME[priced.name] for priced in best):
            apart.setdefault(lever.name if lever.changes == "jobs" else lever.changes, lever)
        chosen = list(apart.values())
        tasks = [(tuple(chosen[:n]), self.assumed, "") for n in range(2, len(chosen) + 1)]
        return self._price(tasks)

    def moved(self, best: Sequence[Priced]) -> list[Priced]:
        """Price levers with half and with twice the assumption that they depend on."""
        tasks = []
        for lever in (_BY_NAME[priced.name] for priced in best):
            for factor in MOVED if lever.moves else ():
                value = getattr(self.assumed, lever.moves)
                to = max(round(value * factor), 1) if isinstance(value, int) else value * factor
                if to != value:
                    assumed = replace(self.assumed, **{lever.moves: to})
                    tasks.append(((lever,), assumed, f"{lever.moves} = {to:g}"))
        return self._price(tasks)

    def _price(self, tasks: Sequence[tuple[tuple[Lever, ...], Assumptions, str]]) -> list[Priced]:
        changes = [
            (levers, assumed, moved, self._change(levers, assumed))
            for levers, assumed, moved in tasks
        ]
        found = [each for each in changes if each[3] is not None]
        after: Sequence[pl.DataFrame | None] = [None] * len(found)
        if self.replayed is not None:
            scenarios = [change.scenario for *_, change in found if change is not None]
            after = list(map_ordered(self.executor, outcome, scenarios, ahead=64))
        return [
            Priced(
                name="+".join(lever.name for lever in levers),
                title=" + ".join(lever.title(assumed) for lever in levers),
                gain=gain_of(
                    self.scenario,
                    change,
                    None if self.replayed is None or then is None else (self.replayed, then),
                    assumed.wait_weight,
                ),
                moved=moved,
                assumes=" ".join(lever.assumes for lever in levers),
            )
            for (levers, assumed, moved, change), then in zip(found, after, strict=True)
            if change is not None
        ]

    def _change(self, levers: tuple[Lever, ...], assumed: Assumptions) -> Change | None:
        if len(levers) == 1:
            return levers[0].apply(self.scenario, self.known, assumed)
        return combined(levers, self.scenario, self.known, assumed)


_BY_NAME = {lever.name: lever for lever in LEVERS}


def _start_up_s(trace: Trace) -> float | None:
    """Return the longest wait that counts as start-up; None: not known."""
    if not trace.has("start_up_limits"):
        return None
    [(longest_s,)] = trace.sql("select max(longest_s) from start_up_limits").fetchall()
    return None if longest_s is None else float(longest_s)


def _why_withheld(trace: Trace, baseline: Baseline | None) -> str:
    """Return why advice on scheduling is withheld, as a sentence; empty if it is given."""
    if reason := completeness.missing_jobs(trace):
        return f"Advice on scheduling is withheld: {reason}."
    if baseline is None:
        return "Advice on scheduling is withheld: too few jobs have a known wait."
    return "" if baseline.near else baseline.sentence
