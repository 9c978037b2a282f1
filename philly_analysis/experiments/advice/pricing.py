"""Price levers: replay a scenario with and without each, and draw months for intervals."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import polars as pl

from philly_analysis.experiments.advice.gains import (
    Gain,
    Monthly,
    gain_of,
    over_drawn,
)
from philly_analysis.experiments.advice.lever import Assumptions, Change, Lever
from philly_analysis.experiments.advice.levers import LEVERS, combined
from philly_analysis.experiments.advice.resampling import drawn_month
from philly_analysis.experiments.advice.scenario import Known, Scenario, replay_all
from philly_analysis.trace import Trace

CARDS = 3
"""Levers that are recommended, moved and combined."""

MOVED = (0.5, 2.0)
"""Factors on the assumption of a recommended lever."""

_BY_NAME = {lever.name: lever for lever in LEVERS}


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


def _named(levers: Sequence[Lever]) -> str:
    return "+".join(lever.name for lever in levers)


_P = 0.025
"""Level of each of the two tests, of freed GPU hours and of waiting: together 0.05."""


def sure(part: Monthly | None, p_value: float) -> bool:
    """Return whether a part of a gain is above 0: on average, or in nine of ten months."""
    return part is not None and (p_value < _P or part.low > 0)


def clear(priced: Priced) -> bool:
    """Return whether a lever frees GPU hours or waiting, and costs neither.

    By the waiting alone many levers that free GPU hours would be unclear, as waits vary more
    between months.
    """
    gain = priced.gain
    costs = any(part is not None and part.high < 0 for part in (gain.gpu_h, gain.wait_h))
    gained = sure(gain.gpu_h, gain.gpu_p) or sure(gain.wait_h, gain.wait_p)
    return gained and not costs and gain.value_h.mean > 0


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices levers on a scenario; waits need its replay.

    Attributes
    ----------
    replayed
        The outcome of the scenario's replay; None: waits are not known.
    cache
        Trace in whose cache outcomes are stored; None: nowhere.
    """

    scenario: Scenario
    known: Known
    assumed: Assumptions
    replayed: pl.DataFrame | None
    executor: Executor
    cache: Trace | None = None

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
        drawn: list[list[Change]] = []
        for seed in range(months):
            month, known = drawn_month(self.scenario, self.known, seed)
            found = (_BY_NAME[each.name].apply(month, known, self.assumed) for each in best)
            drawn.append([Change(month), *(change or Change(month) for change in found)])
        names = ["", *(each.name for each in best)]
        of_text = {
            f"{self._text(name, self.assumed)} in month {seed}": change.scenario
            for seed, changes in enumerate(drawn)
            for name, change in zip(names, changes, strict=True)
        }
        replays = iter(replay_all(of_text, self.executor, self.cache))
        gains: list[list[Gain]] = [[] for _ in best]
        for unchanged, *changes in drawn:
            before = next(replays)
            for own, change in zip(gains, changes, strict=True):
                waits = before, next(replays)
                own.append(gain_of(unchanged.scenario, change, waits, self.assumed.wait_weight))
        return [
            replace(each, gain=over_drawn(each.gain, own))
            for each, own in zip(best, gains, strict=True)
        ]

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
        found = [
            (levers, assumed, moved, change)
            for levers, assumed, moved in tasks
            if (change := combined(levers, self.scenario, self.known, assumed)) is not None
        ]
        after: Sequence[pl.DataFrame | None] = [None] * len(found)
        if self.replayed is not None:
            of_text = {
                self._text(_named(levers), assumed): change.scenario
                for levers, assumed, _, change in found
            }
            after = replay_all(of_text, self.executor, self.cache)
        return [
            Priced(
                name=_named(levers),
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
        ]

    def _text(self, levers: str, assumed: Assumptions) -> str:
        """Return what determines the scenario after levers, for one trace; none: before."""
        return f"{self.scenario.rules} {levers} {assumed if levers else ''}"
