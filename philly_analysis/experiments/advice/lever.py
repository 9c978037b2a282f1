"""Define a lever: its assumptions, and the change of a scenario."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from philly_analysis.errors import InputError
from philly_analysis.experiments.advice.scenario import LogFacts, Scenario

VALUES = {
    "total": "GPU hours freed plus GPU hours of waiting saved",
    "freed": "GPU hours freed",
    "waiting": "GPU hours of waiting saved",
}
"""Measures of a gain. An hour of waiting of a job counts once for each of its GPUs."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What levers assume, each a number that can be moved.

    Attributes
    ----------
    idle_h
        Hours without computing after which a job is ended.
    checkpoint_h
        Hours between checkpoints.
    share_below_pct
        Mean utilisation below which a job of one server shares its GPUs with another.
    interference_pct
        Share of speed that a job loses beside another job on its GPUs, or on more servers than the
        job needs.
    limit_factor
        Largest time limit that users request, in multiples of the run time.
    raise_factor
        Factor by which limits that bind are raised.
    repair_days
        Days from draining a server until the server returns.
    servers
        Servers that are added.
    value
        Measure of a gain, by which levers are ordered and tested: a key of :data:`VALUES`.

    Raises
    ------
    InputError
        A number is out of bounds, or the measure is unknown.
    """

    idle_h: float = 4.0
    checkpoint_h: float = 1.0
    share_below_pct: float = 30.0
    interference_pct: float = 5.0
    limit_factor: float = 1.5
    raise_factor: float = 1.5
    repair_days: float = 7.0
    servers: int = 1
    value: str = "total"

    def __post_init__(self) -> None:
        if self.value not in VALUES:
            names = ", ".join(VALUES)
            raise InputError(f"value is {self.value!r}; give one of: {names}.")
        for name in self.__slots__:
            if name == "value":
                continue
            number = getattr(self, name)
            if not _least(name) <= number < _end(name) or number == 0:
                least = f"{_least(name):g} or more" if _least(name) else "above 0"
                end = f" and below {_end(name):g}" if _end(name) < inf else ""
                raise InputError(f"{name} is {number:g}; give a number {least}{end}.")

    def moved(self, name: str, factor: float) -> "Assumptions | None":
        """Return the assumptions with one multiplied; None: the bounds forbid the change."""
        number = getattr(self, name)
        to = max(number * factor, _least(name))
        if isinstance(number, int):
            to = max(round(to), 1)
        if to == number or to >= _end(name):
            return None
        return replace(self, **{name: to})


def _least(name: str) -> float:
    # a time limit below the run time would end the job; a lower limit is not raised
    return 1.0 if name in ("limit_factor", "raise_factor", "servers") else 0.0


def _end(name: str) -> float:
    return 100.0 if name.endswith("_pct") else inf


class Change(NamedTuple):
    """A scenario after a lever.

    Attributes
    ----------
    losers
        Jobs that the lever harms whatever the jobs wait, for example idle jobs that would have
        computed again.
    """

    scenario: Scenario
    losers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Lever:
    """One thing that a cluster can change.

    Attributes
    ----------
    apply
        Returns the changed scenario; None: the lever does not apply to this cluster.
    title
        What to do, as an imperative, under assumptions.
    assumes
        A sentence on the assumptions.
    moves
        Name of the assumption that the lever's sensitivity is shown for; empty: none.
    changes
        What the lever changes: jobs, policy, …. Only one lever that changes the policy can be
        followed.
    """

    name: str
    apply: Callable[[Scenario, LogFacts, Assumptions], Change | None]
    title: Callable[[Assumptions], str]
    assumes: str
    moves: str = ""
    changes: str = "jobs"

    @property
    def scheduling(self) -> bool:
        """Whether only a replay tells the lever's gain."""
        return self.changes != "jobs"
