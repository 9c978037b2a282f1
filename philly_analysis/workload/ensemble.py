"""Months that might have been: workloads of one model, a seed each, drawn when asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, overload

from philly_analysis.errors import WorkloadError
from philly_analysis.workload.workload import Workload


class Model(Protocol):
    """What workloads are drawn from."""

    @property
    def name(self) -> str:
        """What it models."""

    @property
    def sample(self) -> Callable[..., Any]:
        """Draws a workload: the same seed gives the same."""


@dataclass(frozen=True, slots=True)
class Ensemble(Sequence[Workload]):
    """Several months of a model, each as likely as any other.

    A sequence of workloads of which none is held: each is drawn as it is asked for, so that thirty
    months of a large cluster take the memory of one. It may be pickled, and gives the same
    workloads wherever it is read.

    Attributes
    ----------
    model
        What the months are drawn from.
    seeds
        Of the months, one each.
    asked
        What else the model's ``sample`` was asked for, by name.

    Raises
    ------
    WorkloadError
        There is no seed, or one comes twice: the same month again is not another one.
    """

    model: Model
    seeds: tuple[int, ...]
    asked: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise WorkloadError(
                f"an ensemble of the seeds {self.seeds} was asked for; give one or more, each once."
            )

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def of_seed(self, seed: int) -> Workload:
        """Draw the month of a seed."""
        drawn: Workload = self.model.sample(seed=seed, **dict(self.asked))
        return drawn

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
        given = ((name, value) for name, value in self.asked if value is not None)
        asked = "".join(f", {name}={value!r}" for name, value in given)
        return f"Ensemble({self.name!r}, {len(self)} seeds from {self.seeds[0]}{asked})"
