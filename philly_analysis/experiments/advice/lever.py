"""Define a lever, what it assumes, and the change that it makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from philly_analysis.errors import InputError
from philly_analysis.experiments.advice.scenario import Known, Scenario


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
        Share of its speed that a job loses beside another on its GPUs, or on more servers than
        it needs.
    limit_factor
        Time limits, in multiples of run times, of users who give them with care.
    servers
        Servers that are added.
    wait_weight
        GPU hours that one hour of waiting of a job for one GPU counts as, in the order of levers.

    Raises
    ------
    InputError
        A number is not above 0, or a percentage is not below 100; `wait_weight` may be 0.
    """

    idle_h: float = 4.0
    checkpoint_h: float = 1.0
    share_below_pct: float = 30.0
    interference_pct: float = 5.0
    limit_factor: float = 1.5
    servers: int = 1
    wait_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            least = value >= 0 if name == "wait_weight" else value > 0
            if not least or (name.endswith("_pct") and value >= 100):
                most = " and below 100" if name.endswith("_pct") else ""
                at_least = "0 or more" if name == "wait_weight" else "above 0"
                raise InputError(f"{name} is {value:g}; it must be {at_least}{most}.")


class Change(NamedTuple):
    """A scenario after a lever.

    Attributes
    ----------
    losers
        Jobs that the lever harms by itself, whatever they wait: such as those that would have
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
        A sentence on what is assumed.
    moves
        Name of the assumption that its sensitivity is shown for; empty: none.
    changes
        What it changes: of levers that change the policy only one can be followed.
    """

    name: str
    apply: Callable[[Scenario, Known, Assumptions], Change | None]
    title: Callable[[Assumptions], str]
    assumes: str
    moves: str = ""
    changes: str = "jobs"

    @property
    def scheduling(self) -> bool:
        """Whether its gain is known by a replay only."""
        return self.changes != "jobs"
