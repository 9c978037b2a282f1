"""How long jobs run, given their gang-size class, virtual cluster and ending."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.distributions import (
    Distribution,
    Lifetimes,
    Own,
    correlation,
    fit_distribution,
    pooled,
    shifted,
)
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.sessions import whose
from philly_analysis.models.components.user_effects import Habits
from philly_analysis.study import GANGS, STATUSES, gang_class

Floats = NDArray[np.float64]

ANY = "*"
MIN_VC_JOBS = 200
MIN_STATUS_JOBS = 60
MIN_CELL_JOBS = 20
MIN_LEAF_JOBS = 10
MIN_JOBS = 2
_NARROWED = (("gang", "vc", ANY), ("gang", ANY, "status"), ("gang", "vc", "status"))
SURE = 0.995
NARROWEST = 0.05
MOSTLY = 0.9


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
    alike
        Correlation of the run times of one user (or of one session, where users are not known).
    pull
        How many independent jobs of a virtual cluster or ending it takes until its own law
        counts as much as that of its gang class.
    users, hours
        How users and hours of the day differ; None where they are not known.
    """

    cells: tuple[DurationCell, ...]
    leaves: tuple[DurationCell, ...]
    resolution_s: float = 1.0
    alike: float = 0.0
    pull: float = 1.0
    users: Habits | None = None
    hours: Habits | None = None

    @classmethod
    def fit(cls, jobs: pd.DataFrame, *, family: str | None = None, narrowed: bool = True) -> Self:
        """Fit to jobs.

        Parameters
        ----------
        jobs
            Columns submitted_s (ascending), gpus, vc, user and status (null: unknown), run_s in
            seconds, censored. A run time of zero is shorter than clocks resolve and enters as
            half of that.
        family
            Force one family everywhere.
        narrowed
            Fit laws of single virtual clusters and endings to ask for; sampling needs only those
            of `leaves` and of gang classes.

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
                "cluster": whose(jobs),
            }
        )
        ended = ~frame["censored"]
        by_vc = ended.groupby([frame["gang"], frame["vc"]]).transform("sum")
        frame["leaf_vc"] = frame["vc"].where(by_vc >= MIN_VC_JOBS, ANY)
        key = [frame["gang"], frame["leaf_vc"], frame["status"]]
        by_status = ended.groupby(key).transform("sum")
        frame["leaf_status"] = frame["status"].where(by_status >= MIN_STATUS_JOBS, ANY)
        score = _scores(frame)
        alike = correlation(score, frame["cluster"])
        of_same: dict[bytes, Distribution] = {}

        def fitted(keys: tuple[str, str, str], least: int) -> tuple[DurationCell, ...]:
            cells = []
            for (gang, vc, status), part in frame.assign(**{ANY: ANY}).groupby(list(keys)):
                if (~part["censored"]).sum() >= least:
                    same = part.index.to_numpy().tobytes()
                    if same not in of_same:
                        of_same[same] = fit_distribution(
                            part["run_s"],
                            part["censored"],
                            family=family,
                            cluster=part["cluster"],
                            alike=alike,
                            what=f"durations of {gang}-GPU jobs",
                        )
                    cells.append(DurationCell(str(gang), str(vc), str(status), of_same[same]))
            return tuple(cells)

        cells = (
            *fitted(("gang", ANY, ANY), MIN_JOBS),
            *(cell for keys in _NARROWED if narrowed for cell in fitted(keys, MIN_CELL_JOBS)),
        )
        cells = tuple({(c.gang, c.vc, c.status): c for c in reversed(cells)}.values())[::-1]
        hour = ((jobs["submitted_s"].to_numpy(float) // 3_600) % 24).astype(int).astype(str)
        users = None
        if jobs["user"].notna().any():
            session = whose(jobs.assign(vc=jobs["user"].fillna(""), user=None))
            rest = score - pd.Series(score).groupby(frame["cluster"]).transform("mean")
            users = Habits.fit(
                score,
                jobs["user"].fillna("").to_numpy(str),
                session,
                correlation(rest, session),
            )
        return cls(
            cells=cells,
            leaves=fitted(("gang", "leaf_vc", "leaf_status"), MIN_LEAF_JOBS),
            resolution_s=resolution_s,
            alike=round(alike, 4),
            pull=_pull(cells),
            users=users,
            hours=Habits.fit(score, hour, frame["cluster"].to_numpy(), alike),
        )

    def __call__(
        self,
        gpus: int,
        *,
        vc: str | None = None,
        user: str | None = None,
        status: str | None = None,
        hour: int | None = None,
    ) -> Distribution:
        """Return the law of run times in seconds.

        What it is narrowed down to is drawn towards the law of the whole gang class, the more
        the fewer independent jobs were seen of it (empirical Bayes); the law's `own` says by how
        much. What was never seen is taken to be as all are, and a gang class as the nearest one.

        Parameters
        ----------
        gpus
            Gang size; its class decides.
        vc, status
            Virtual cluster and ending.
        user
            A user, by the name that samples give it.
        hour
            Hour of the day of submission, 0 to 23, UTC.

        Raises
        ------
        ModelError
            A gang of no GPU, or an hour that no day has.
        UnknownNameError
            No such ending.
        """
        if gpus < 1:
            raise ModelError(f"a gang of {gpus} GPUs was asked for; gangs have at least one")
        if status is not None and status not in STATUSES:
            raise UnknownNameError("ending", status, STATUSES)
        if hour is not None and hour not in range(24):
            raise ModelError(f"the hour {hour} was asked for; a day has 0 to 23")
        index = int(gang_class(gpus))
        cells = {(c.gang, c.vc, c.status): c for c in self.cells}
        classes = {c.gang: 0 for c in self.cells if c.vc == c.status == ANY}
        gang = _nearest(classes, index)
        law = cells[gang, ANY, ANY].law
        own = () if gang == GANGS[index] else (Own(f"gangs of {GANGS[index]} GPUs", 0.0, 0.0),)
        by_vc = (gang, vc or ANY, ANY) in cells
        chain = ((vc or ANY, ANY), (vc or ANY, status or ANY)) if by_vc else ((ANY, status or ANY),)
        if vc is not None and not by_vc:
            own = (*own, Own(f"virtual cluster {vc}", 0.0, 0.0))
        for of_vc, ending in dict.fromkeys(chain):
            if of_vc == ending == ANY:
                continue
            cell = cells.get((gang, of_vc, ending))
            words = [f"virtual cluster {of_vc}"] * (of_vc != ANY) + [ending] * (ending != ANY)
            what = ", ".join(words)
            if cell is None:
                own = (*own, Own(what, 0.0, 0.0))
                continue
            told = cell.law.worth or 0.0
            weight = told / (told + self.pull)
            law = cell.law if weight > SURE else pooled(cell.law, law, weight)
            own = (*own, Own(what, told, round(weight, 3)))
        shift, explained = 0.0, 0.0
        for habits, name, what in (
            (self.users, user, f"user {user}"),
            (self.hours, None if hour is None else str(int(hour)), f"hour {hour}"),
        ):
            if name is not None:
                by, less, of = (habits or Habits(0.0, ())).of(name, what)
                shift, explained, own = shift + by, explained + less, (*own, of)
        if shift or explained:
            law = shifted(law, shift, float(np.sqrt(max(1 - explained, NARROWEST))))
        return replace(law, own=own) if own else law

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


def _scores(frame: pd.DataFrame) -> Floats:
    """Return normal scores of run times within the gang class; of running jobs what is expected."""
    score = np.zeros(len(frame))
    for _, part in frame.reset_index(drop=True).groupby("gang"):
        by_value = part.sort_values("run_s", kind="stable")
        x = Lifetimes(by_value["run_s"].to_numpy(), by_value["censored"].to_numpy())
        if x.ended.size:
            score[by_value.index] = x.scores()
    return score


def _pull(cells: tuple[DurationCell, ...]) -> float:
    """Return how many independent jobs the law of a gang class counts as beside narrower ones.

    As if each narrower law were drawn from a Dirichlet process about it (Ferguson 1973) of that
    concentration: the mean squared gap of two CDFs, over the variance of one value, is then 1 in
    1 + concentration, and what chance adds.
    """
    levels = np.linspace(0.05, 0.95, 19)
    whole = {c.gang: c for c in cells if c.vc == c.status == ANY}
    apart, weight = [], []
    for cell in cells:
        all_ = whole[cell.gang]
        share, told = cell.law.n / max(all_.law.n, 1), cell.law.worth or 0.0
        if share < MOSTLY and told > 1:
            gap = cell.law.cdf(all_.law.ppf(levels)) - levels
            ratio = float((gap**2 / (levels * (1 - levels))).mean()) / (1 - share)
            apart.append((ratio - 1 / told) / (1 - 1 / told))
            weight.append(told / (1 + told))
    if not apart:
        return 1.0
    drift = float(np.clip(np.average(apart, weights=weight), 1e-4, 0.5))
    return round(1 / drift - 1, 2)
