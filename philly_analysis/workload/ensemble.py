"""Ensembles: workloads of one model, one per seed, drawn on access."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from typing import Any, Protocol, SupportsIndex, overload

from philly_analysis.errors import WorkloadError
from philly_analysis.workload.changes import Changeable, Changes
from philly_analysis.workload.machines import Machine, machines_of
from philly_analysis.workload.workload import Workload


class Model(Protocol):
    """A model that workloads are drawn from."""

    @property
    def name(self) -> str:
        """Name of the model."""

    @property
    def sample(self) -> Callable[..., Any]:
        """Function that draws a workload; equal seeds give equal workloads."""


def seeds_of(seeds: SupportsIndex | Iterable[SupportsIndex]) -> tuple[int, ...]:
    """Return the seeds: the integers themselves, or the first ``n`` seeds 0, 1, … of a number.

    Raises
    ------
    WorkloadError
        There is no seed, one repeats, or one is not an integer of 0 or more.
    """
    try:
        numbers = tuple(map(index, seeds if isinstance(seeds, Iterable) else range(seeds)))
    except TypeError:
        numbers = ()
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise WorkloadError(
            f"seeds are a number of seeds (3: the seeds 0, 1 and 2) or different integers of 0 or "
            f"more ([4, 7]), not {seeds!r:.80}."
        )
    return numbers


@dataclass(frozen=True, slots=True)
class Ensemble(Changeable, Sequence[Workload]):
    """Several independent draws of a model.

    A sequence of workloads that keeps none in memory: each access draws a workload again. An
    ensemble can be pickled, and gives the same workloads in every process.

    Attributes
    ----------
    model
        The model that is drawn from.
    seeds
        One per draw.
    options
        Other arguments of the model's ``sample``, by name.
    load
        Offered load, and the machines that it refers to; None: submissions as drawn.
    changes
        Changes of the jobs that a simulation applies.

    Raises
    ------
    WorkloadError
        There is no seed, or one repeats.
    """

    model: Model
    seeds: tuple[int, ...]
    options: tuple[tuple[str, Any], ...] = ()
    load: tuple[float, tuple[Machine, ...]] | None = None
    changes: Changes = field(default_factory=Changes)

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise WorkloadError(
                f"an ensemble needs one or more different seeds, but got {self.seeds}."
            )

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def of_seed(self, seed: int) -> Workload:
        """Draw the workload of a seed."""
        drawn: Workload = self.model.sample(seed=seed, **dict(self.options))
        if self.load is not None:
            drawn = drawn.with_load(*self.load)
        return drawn.with_changes(self.changes)

    def with_load(self, load: float, cluster: int | str | Sequence[Machine]) -> "Ensemble":
        """Return the ensemble at an offered load: the rate changes, days stay days.

        The parameters are the parameters of :meth:`Workload.with_load`.
        """
        return replace(self, load=(load, machines_of(cluster)))

    @overload
    def __getitem__(self, at: int) -> Workload: ...
    @overload
    def __getitem__(self, at: slice) -> "Ensemble": ...
    def __getitem__(self, at: int | slice) -> "Workload | Ensemble":
        if isinstance(at, slice):
            return replace(self, seeds=self.seeds[at])
        return self.of_seed(self.seeds[at])

    def __len__(self) -> int:
        return len(self.seeds)

    def __repr__(self) -> str:
        options = "".join(f", {k}={v!r}" for k, v in self.options if v is not None)
        return f"Ensemble({self.name!r}, {len(self)} seeds from {self.seeds[0]}{options})"
