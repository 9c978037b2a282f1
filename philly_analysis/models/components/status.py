"""How jobs end and how often they are tried, given their gang-size class and virtual cluster."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.distributions import evenly
from philly_analysis.errors import ModelError
from philly_analysis.study import GANGS, STATUSES, gang_class

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]

ANY = "*"
MIN_JOBS = 100
MAX_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class StatusCell:
    """Endings of one class of jobs: probability of each of `STATUSES`; ``*``: every (other) VC."""

    gang: str
    vc: str
    shares: tuple[float, ...]
    n: int


@dataclass(frozen=True, slots=True)
class AttemptCell:
    """Attempts of the jobs of one class and ending: probability of 1, 2, .. attempts."""

    gang: str
    status: str
    shares: tuple[float, ...]
    n: int


@dataclass(frozen=True, slots=True)
class Status:
    """Endings and retries.

    Attributes
    ----------
    cells
        Endings by gang class and virtual cluster.
    attempts
        Attempts by gang class and ending.
    last_share
        Share of a retried job's run time that its last attempt takes: mean over such jobs.
    """

    cells: tuple[StatusCell, ...]
    attempts: tuple[AttemptCell, ...]
    last_share: float

    @classmethod
    def fit(cls, jobs: pd.DataFrame) -> Self | None:
        """Fit to jobs.

        Parameters
        ----------
        jobs
            Columns gpus, vc, status (null: unknown), attempts; and, where known, last_share.

        Returns
        -------
        Status or None
            None when no job's ending is known.
        """
        known = jobs[jobs["status"].notna()]
        if known.empty:
            return None
        frame = pd.DataFrame(
            {
                "gang": np.asarray(GANGS)[gang_class(known["gpus"])],
                "vc": known["vc"].to_numpy(str),
                "status": known["status"].to_numpy(str),
                "attempts": np.clip(known["attempts"].to_numpy(int), 1, MAX_ATTEMPTS),
            }
        )
        size = frame.groupby(["gang", "vc"])["status"].transform("size")
        frame["vc"] = frame["vc"].where(size >= MIN_JOBS, ANY)
        cells = tuple(
            StatusCell(str(gang), str(vc), _shares(part["status"], STATUSES), len(part))
            for (gang, vc), part in frame.groupby(["gang", "vc"])
        )
        tries = tuple(
            AttemptCell(
                str(gang),
                str(status),
                _shares(part["attempts"], range(1, int(part["attempts"].max()) + 1)),
                len(part),
            )
            for (gang, status), part in frame.groupby(["gang", "status"])
        )
        retried = known.loc[known["attempts"] > 1]
        last = retried["last_share"].mean() if "last_share" in retried and len(retried) else np.nan
        return cls(cells, tries, float(last) if np.isfinite(last) else 0.5)

    def shares(self, gpus: int, vc: str | None = None) -> dict[str, float]:
        """Return the probability of each ending.

        Raises
        ------
        ModelError
            No such job was seen.
        """
        gang = GANGS[int(gang_class(gpus))]
        own = [c for c in self.cells if c.gang == gang and (vc is None or c.vc == vc)]
        own = own or [c for c in self.cells if c.gang == gang]
        if not own:
            raise ModelError(f"no job of {gang} GPUs with a known ending was seen")
        weight = np.array([c.n for c in own], float)
        mixed = weight @ np.array([c.shares for c in own]) / weight.sum()
        return dict(zip(STATUSES, (float(v) for v in mixed), strict=True))

    def sample(
        self, score: Floats, gpus: Ints, vc: NDArray[np.str_], rng: np.random.Generator
    ) -> NDArray[np.str_]:
        """Return an ending per job, in order of `score` within each class (all shape (n,))."""
        gangs = gang_class(gpus)
        vcs, v = np.unique(vc, return_inverse=True)
        index = {(c.gang, c.vc): i for i, c in enumerate(self.cells)}
        of_class = {c.gang: i for i, c in reversed(list(enumerate(self.cells)))}
        table = np.array(
            [
                [
                    index.get((gang, str(name)), index.get((gang, ANY), _nearest(of_class, i)))
                    for name in vcs
                ]
                for i, gang in enumerate(GANGS)
            ]
        )
        cell = table[gangs, v]
        u = evenly(score, rng, cell)
        edges = np.cumsum([c.shares for c in self.cells], axis=1)[cell]
        pick = (u[:, None] > edges).sum(axis=1)
        return np.asarray(np.array(STATUSES)[np.minimum(pick, len(STATUSES) - 1)])

    def sample_attempts(
        self, gpus: Ints, status: NDArray[np.str_], rng: np.random.Generator
    ) -> Ints:
        """Return the number of attempts of each job (all shape (n,))."""
        gang = np.asarray(GANGS)[gang_class(gpus)]
        tries = np.ones(gpus.size, int)
        for cell in self.attempts:
            mine = np.flatnonzero((gang == cell.gang) & (status == cell.status))
            u = evenly(rng.random(mine.size), rng)
            tries[mine] = 1 + np.searchsorted(np.cumsum(cell.shares)[:-1], u)
        return tries


def _nearest(of_class: dict[str, int], wanted: int) -> int:
    near = min(of_class, key=lambda gang: abs(GANGS.index(gang) - wanted))
    return of_class[near]


def _shares(values: pd.Series, among: range | tuple[str, ...]) -> tuple[float, ...]:
    counts = values.value_counts()
    return tuple(float(counts.get(v, 0) / len(values)) for v in among)
