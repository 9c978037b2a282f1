"""How long jobs run, given their gang-size class, virtual cluster and ending."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.errors import ModelError
from philly_analysis.laws.distribution import Distribution
from philly_analysis.laws.fitting import fit_distribution
from philly_analysis.study import GANGS, gang_class

Floats = NDArray[np.float64]

ANY = "*"
MIN_VC_JOBS = 200
MIN_STATUS_JOBS = 60
MIN_LEAF_JOBS = 10
MIN_JOBS = 2


@dataclass(frozen=True, slots=True)
class DurationCell:
    """The law of run times of one class of jobs; ``*`` stands for every (other) value."""

    gang: str
    vc: str
    status: str
    law: Distribution


@dataclass(frozen=True, slots=True)
class Duration:
    """Laws of run time.

    Attributes
    ----------
    cells
        For asking: each gang class, and each of its virtual clusters and endings with enough jobs.
    leaves
        For sampling: a partition of the jobs, so that sampled marginals are the fitted ones.
    resolution_s
        What run times are whole multiples of.
    """

    cells: tuple[DurationCell, ...]
    leaves: tuple[DurationCell, ...]
    resolution_s: float = 1.0

    @classmethod
    def fit(cls, jobs: pd.DataFrame, *, family: str | None = None) -> Self:
        """Fit to jobs.

        Parameters
        ----------
        jobs
            Columns gpus, vc, status (null: unknown), run_s in seconds, censored. A run time of
            zero is shorter than clocks resolve and enters as half of that.
        family
            Force one family everywhere.

        Raises
        ------
        ModelError
            No jobs, all censored, or all durations zero.
        """
        if jobs.empty:
            raise ModelError("durations: there are no jobs with a known gang and run time")
        run_s = jobs["run_s"].to_numpy(float)
        if (run_s < 0).any():
            raise ModelError(f"durations: {(run_s < 0).sum()} run times are negative")
        if (run_s == 0).all():
            raise ModelError(
                f"durations: all {run_s.size} run times are zero: start or end times are missing"
            )
        if jobs["censored"].all():
            raise ModelError(
                f"durations: all {run_s.size} jobs are censored, none was seen to its end"
            )
        if (~jobs["censored"]).sum() < MIN_JOBS:
            raise ModelError(
                f"durations: {(~jobs['censored']).sum()} of {run_s.size} jobs were seen to their "
                f"end; at least {MIN_JOBS} are needed"
            )
        resolution_s = 1.0 if (run_s == np.rint(run_s)).all() else 0.01
        frame = pd.DataFrame(
            {
                "gang": np.asarray(GANGS)[gang_class(jobs["gpus"])],
                "vc": jobs["vc"].to_numpy(str),
                "status": jobs["status"].fillna(ANY).to_numpy(str),
                "run_s": np.maximum(run_s, resolution_s / 2),
                "censored": jobs["censored"].to_numpy(bool),
            }
        )
        ended = ~frame["censored"]
        by_vc = ended.groupby([frame["gang"], frame["vc"]]).transform("sum")
        frame["leaf_vc"] = frame["vc"].where(by_vc >= MIN_VC_JOBS, ANY)
        key = [frame["gang"], frame["leaf_vc"], frame["status"]]
        by_status = ended.groupby(key).transform("sum")
        frame["leaf_status"] = frame["status"].where(by_status >= MIN_STATUS_JOBS, ANY)

        def fitted(keys: tuple[str, str, str], least: int) -> tuple[DurationCell, ...]:
            cells = []
            for (gang, vc, status), part in frame.assign(**{ANY: ANY}).groupby(list(keys)):
                if (~part["censored"]).sum() >= least:
                    law = fit_distribution(
                        part["run_s"],
                        part["censored"],
                        family=family,
                        what=f"durations of {gang}-GPU jobs",
                    )
                    cells.append(DurationCell(str(gang), str(vc), str(status), law))
            return tuple(cells)

        return cls(
            cells=(
                *fitted(("gang", ANY, ANY), MIN_JOBS),
                *fitted(("gang", "vc", ANY), MIN_STATUS_JOBS),
                *fitted(("gang", ANY, "status"), MIN_STATUS_JOBS),
            ),
            leaves=fitted(("gang", "leaf_vc", "leaf_status"), MIN_LEAF_JOBS),
            resolution_s=resolution_s,
        )

    def __call__(
        self, gpus: int, *, vc: str | None = None, status: str | None = None
    ) -> Distribution:
        """Return the law of run times in seconds.

        Parameters
        ----------
        gpus
            Gang size; its class decides.
        vc, status
            Narrow it down, where enough jobs were seen.

        Raises
        ------
        ModelError
            Too few such jobs were seen.
        """
        if gpus < 1:
            raise ModelError(f"a gang of {gpus} GPUs was asked for; gangs have at least one")
        gang = GANGS[int(gang_class(gpus))]
        for cell in (*self.cells, *(self.leaves if vc and status else ())):
            if (cell.gang, cell.vc, cell.status) == (gang, vc or ANY, status or ANY):
                return cell.law
        asked = ", ".join(
            f"{k} {v}" for k, v in (("gang class", gang), ("vc", vc), ("status", status)) if v
        )
        have = sorted({c.gang for c in self.cells}, key=GANGS.index)
        raise ModelError(
            f"run times of {asked}: too few such jobs were seen to their end for a law of their "
            f"own; gang classes that have one: {', '.join(have)}"
        )

    def sample(self, u: Floats, leaf: NDArray[np.int_]) -> Floats:
        """Return run times in s, whole multiples of the resolution, at uniform numbers.

        Parameters
        ----------
        u
            Shape (n,), in (0, 1).
        leaf
            Shape (n,): the law of each, from :meth:`leaf_of`.
        """
        run_s = np.empty(u.size)
        laws = [c.law for c in (*self.leaves, *self.cells)]
        order = np.argsort(leaf, kind="stable")
        bounds = np.searchsorted(leaf[order], np.arange(len(laws) + 1))
        for i, law in enumerate(laws):
            mine = order[bounds[i] : bounds[i + 1]]
            if mine.size:
                run_s[mine] = law.ppf(u[mine])
        return np.maximum(np.rint(run_s / self.resolution_s), 1) * self.resolution_s

    def leaf_of(
        self, gpus: NDArray[np.int_], vc: NDArray[np.str_], status: NDArray[np.str_]
    ) -> NDArray[np.int_]:
        """Return which law each job's run time follows, as an index (shape (n,))."""
        leaves = {(c.gang, c.vc, c.status): i for i, c in enumerate(self.leaves)}
        whole = {
            c.gang: len(leaves) + i for i, c in enumerate(self.cells) if c.vc == c.status == ANY
        }
        own_vc = {(c.gang, c.vc) for c in self.leaves}
        gangs = gang_class(gpus)
        vcs, v = np.unique(vc, return_inverse=True)
        statuses, s = np.unique(status, return_inverse=True)
        table = np.empty((len(GANGS), vcs.size, statuses.size), int)
        for i in range(len(GANGS)):
            # A class too rare for a law of its own borrows the nearest one's.
            near = _nearest(whole, i)
            for j, name in enumerate(vcs):
                mine = str(name) if (near, str(name)) in own_vc else ANY
                for k, ending in enumerate(statuses):
                    keys = ((near, mine, str(ending)), (near, mine, ANY))
                    table[i, j, k] = next((leaves[x] for x in keys if x in leaves), whole[near])
        return np.asarray(table[gangs, v, s])


def _nearest(classes: dict[str, int], wanted: int) -> str:
    return min(classes, key=lambda c: abs(GANGS.index(c) - wanted))
