"""Price levers: replay a scenario with and without each, and draw months for intervals."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from philly_analysis.errors import PhillyError
from philly_analysis.experiments.advice.gains import MONTH_D, Gain, gain_of, over_drawn
from philly_analysis.experiments.advice.judging import objection
from philly_analysis.experiments.advice.lever import Assumptions, Change, Lever
from philly_analysis.experiments.advice.levers import LEVERS, combined
from philly_analysis.experiments.advice.resampling import drawn_month
from philly_analysis.experiments.advice.scenario import (
    LogFacts,
    Scenario,
    attempt_all,
    jobs_in_period,
    period_of,
)
from philly_analysis.trace import Trace

CARDS = 3
"""Levers that are recommended, moved and combined."""

MOVED = (0.5, 2.0)
"""Factors on the assumption of a recommended lever."""

_BY_NAME = {lever.name: lever for lever in LEVERS}


@dataclass(frozen=True, slots=True)
class Priced:
    """A lever, or several levers together, with the gain.

    Attributes
    ----------
    moved
        The assumption that differs from the user's assumptions, as text; empty: none.
    """

    name: str
    title: str
    gain: Gain
    moved: str = ""
    assumes: str = ""


@dataclass(frozen=True)
class Pricing:
    """Prices levers on a scenario; waits need the scenario's replay.

    Attributes
    ----------
    replayed
        The outcome of the scenario's replay; None: waits are not known.
    cache
        Trace in whose cache outcomes are stored; None: nowhere.
    failed
        Why levers could not be priced, by title.
    """

    scenario: Scenario
    log_facts: LogFacts
    assumed: Assumptions
    replayed: pl.DataFrame | None
    executor: Executor
    cache: Trace | None = None
    failed: dict[str, str] = field(default_factory=dict)

    @cached_property
    def ran_h(self) -> float:
        """GPU hours that jobs run a month."""
        begin_s, end_s = period_of(self.scenario.jobs)
        ran_s = sum(spec.gpu_s for spec in jobs_in_period(self.scenario))
        return ran_s / 3600 * MONTH_D * 86_400 / (end_s - begin_s)

    def objection(self, priced: Priced, *, harmful: bool = False) -> str:
        """Return why a lever gets no card, as a clause: see :func:`objection`."""
        if _BY_NAME[priced.name].changes == "machines":
            return "needs a purchase"
        return objection(priced.gain, self.ran_h, self.assumed.value, harmful=harmful)

    def levers(self, levers: Sequence[Lever]) -> list[Priced]:
        """Price levers, the greatest gain first."""
        allowed = [lever for lever in levers if self.replayed is not None or not lever.scheduling]
        priced = self._price([((lever,), self.assumed, "") for lever in allowed])
        return sorted(priced, key=lambda p: -p.gain.value_h.mean)

    def with_cards(
        self, priced: Sequence[Priced], months: int
    ) -> tuple[list[Priced], list[Priced]]:
        """Return the levers with cards, and levers that get none by the drawn months.

        Both have intervals over drawn months if waits are replayed. Harm to a gang size is judged
        over the log and the drawn months together, since a size has few long waits in one month.
        """
        drawn = bool(months) and self.replayed is not None
        allowed = [lever for lever in priced if not self.objection(lever, harmful=drawn)]
        if not drawn:
            return allowed[:CARDS], []
        best, refused = list[Priced](), list[Priced]()
        while allowed and len(best) < CARDS:
            places = CARDS - len(best)
            for lever in self.over_months(allowed[:places], months):
                (refused if self.objection(lever) else best).append(lever)
            allowed = allowed[places:]
        return best, refused

    def over_months(self, best: Sequence[Priced], months: int) -> list[Priced]:
        """Return levers with intervals over drawn months."""
        scenarios: dict[str, Scenario] = {}
        drawn: list[tuple[str, list[tuple[str, Change]]]] = []
        for seed in range(months):
            month, month_facts = drawn_month(self.scenario, self.log_facts, seed)
            before = f"{self._text('')} in month {seed}"
            scenarios[before] = month
            changes = []
            for lever in best:
                change = None
                try:
                    change = _BY_NAME[lever.name].apply(month, month_facts, self.assumed)
                except PhillyError as error:
                    self.failed[lever.title] = str(error)
                change = change or Change(month)
                text = f"{self._text(lever.name)} in month {seed}"
                scenarios[text] = change.scenario
                changes.append((text, change))
            drawn.append((before, changes))
        outcomes = attempt_all(scenarios, self.executor, self.cache)
        replays = dict(zip(scenarios, outcomes, strict=True))
        priced = []
        for nth, lever in enumerate(best):
            gains = list[Gain]()
            for before, changes in drawn:
                after, change = changes[nth]
                was, then = replays[before], replays[after]
                for replay in (was, then):
                    if isinstance(replay, PhillyError):
                        self.failed[lever.title] = str(replay)
                if isinstance(was, pl.DataFrame) and isinstance(then, pl.DataFrame):
                    gains.append(gain_of(scenarios[before], change, (was, then), self.assumed))
            if lever.title not in self.failed:
                priced.append(replace(lever, gain=over_drawn(lever.gain, gains)))
        return priced

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
                if (assumed := self.assumed.moved(lever.moves, factor)) is not None:
                    to = f"{lever.moves} = {getattr(assumed, lever.moves):g}"
                    tasks.append(((lever,), assumed, to))
        return self._price(tasks)

    def _price(self, tasks: Sequence[tuple[tuple[Lever, ...], Assumptions, str]]) -> list[Priced]:
        changes = list[tuple[tuple[Lever, ...], Assumptions, str, Change]]()
        for levers, assumed, moved in tasks:
            try:
                change = combined(levers, self.scenario, self.log_facts, assumed)
            except PhillyError as error:
                self.failed[_title(levers, assumed)] = str(error)
                continue
            if change is not None:
                changes.append((levers, assumed, moved, change))
        after: Sequence[pl.DataFrame | PhillyError | None] = [None] * len(changes)
        if self.replayed is not None:
            scenarios = {
                self._text(_named(levers), assumed): change.scenario
                for levers, assumed, _, change in changes
            }
            after = attempt_all(scenarios, self.executor, self.cache)
        priced = []
        for (levers, assumed, moved, change), then in zip(changes, after, strict=True):
            if isinstance(then, PhillyError):
                self.failed[_title(levers, assumed)] = str(then)
                continue
            waits = None if self.replayed is None or then is None else (self.replayed, then)
            priced.append(
                Priced(
                    name=_named(levers),
                    title=_title(levers, assumed),
                    gain=gain_of(self.scenario, change, waits, assumed),
                    moved=moved,
                    assumes=" ".join(lever.assumes for lever in levers),
                )
            )
        return priced

    def _text(self, levers: str, assumed: Assumptions | None = None) -> str:
        """Return what determines the scenario after levers, for one trace; none: before."""
        assumptions = replace(assumed or self.assumed, value="total")  # changes no scenario
        return f"{self.scenario.rules} {levers} {assumptions if levers else ''}"


def _named(levers: Sequence[Lever]) -> str:
    return "+".join(lever.name for lever in levers)


def _title(levers: Sequence[Lever], assumed: Assumptions) -> str:
    return " + ".join(lever.title(assumed) for lever in levers)
