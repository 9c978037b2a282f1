"""Final status and number of attempts given gang class and virtual cluster."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.distributions import Floats, Ints, stratified_uniforms
from philly_analysis.errors import ModelError
from philly_analysis.models.components.job_classes import ANY, gang_names, look_up, nearest_gang
from philly_analysis.study import GANGS, STATUSES, gang_class

MIN_JOBS = 100
MAX_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class StatusCell:
    """Probability of each of `STATUSES` in one job class; ``*`` is every (other) VC."""

    gang: str
    vc: str
    shares: tuple[float, ...]
    n: int


@dataclass(frozen=True, slots=True)
class AttemptCell:
    """Probability of 1, 2, .. attempts in one job class."""

    gang: str
    status: str
    shares: tuple[float, ...]
    n: int


@dataclass(frozen=True, slots=True)
class Status:
    """Final statuses and retries.

    Attributes
    ----------
    cells
        Statuses by gang class and virtual cluster.
    attempts
        Attempts by gang class and status.
    last_share
        Mean share of a retried job's run time in its last attempt.
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
            Columns gpus, vc, status (null: unknown), attempts, last_share (null: unknown).

        Returns
        -------
        Status or None
            None if no job's status is known.
        """
        ended = jobs[jobs["status"].notna()]
        if ended.empty:
            return None
        frame = pd.DataFrame(
            {
                "gang": gang_names(ended["gpus"]),
                "vc": ended["vc"].to_numpy(str),
                "status": ended["status"].to_numpy(str),
                "attempts": np.clip(ended["attempts"].to_numpy(int), 1, MAX_ATTEMPTS),
            }
        )
        size = frame.groupby(["gang", "vc"])["status"].transform("size")
        frame["vc"] = frame["vc"].where(size >= MIN_JOBS, ANY)
        cells = tuple(
            StatusCell(str(gang), str(vc), _shares(part["status"], STATUSES), len(part))
            for (gang, vc), part in frame.groupby(["gang", "vc"])
        )
        attempts = tuple(
            AttemptCell(
                str(gang),
                str(status),
                _shares(part["attempts"], range(1, int(part["attempts"].max()) + 1)),
                len(part),
            )
            for (gang, status), part in frame.groupby(["gang", "status"])
        )
        last = ended.loc[ended["attempts"] > 1, "last_share"].mean()
        return cls(cells, attempts, float(last) if np.isfinite(last) else 0.5)

    def shares(self, gpus: int | None = None) -> dict[str, float]:
        """Return the probability of each status; of all jobs if no gang size is given.

        Raises
        ------
        ModelError
            No such job was observed.
        """
        gang = None if gpus is None else GANGS[int(gang_class(gpus))]
        cells = [c for c in self.cells if gang in (None, c.gang)]
        if not cells:
            raise ModelError(f"no job of {gang} GPUs with a known status was observed")
        weight = np.array([c.n for c in cells], float)
        mixed = weight @ np.array([c.shares for c in cells]) / weight.sum()
        return dict(zip(STATUSES, mixed.tolist(), strict=True))

    def sample(
        self, score: Floats, gpus: Ints, vc: NDArray[np.str_], rng: np.random.Generator
    ) -> NDArray[np.str_]:
        """Return a status per job, in order of `score` within each class (all shape (n,))."""
        index = {(c.gang, c.vc): i for i, c in enumerate(self.cells)}
        first = {c.gang: i for i, c in reversed(list(enumerate(self.cells)))}

        def find(i: int, vc: str) -> int:
            nearest = first[nearest_gang(first, i)]
            return index.get((GANGS[i], vc), index.get((GANGS[i], ANY), nearest))

        cell = look_up(find, gpus, vc)
        u = stratified_uniforms(score, rng, cell)
        edges = np.cumsum([c.shares for c in self.cells], axis=1)[cell]
        pick = (u[:, None] > edges).sum(axis=1)
        return np.asarray(np.array(STATUSES)[np.minimum(pick, len(STATUSES) - 1)])

    def sample_attempts(
        self, gpus: Ints, status: NDArray[np.str_], rng: np.random.Generator
    ) -> Ints:
        """Return the number of attempts of each job (all shape (n,))."""
        gang = gang_names(gpus)
        attempts = np.ones(gpus.size, int)
        for cell in self.attempts:
            mine = np.flatnonzero((gang == cell.gang) & (status == cell.status))
            u = stratified_uniforms(rng.random(mine.size), rng)
            attempts[mine] = 1 + np.searchsorted(np.cumsum(cell.shares)[:-1], u)
        return attempts


def _shares(values: pd.Series, among: range | tuple[str, ...]) -> tuple[float, ...]:
    counts = values.value_counts()
    return tuple(float(counts.get(v, 0) / len(values)) for v in among)
