"""Users and virtual clusters: shares of jobs, and repetition of successive jobs."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from philly_analysis.distributions import Bools, Floats, Ints, repeated_scores, stratified_uniforms
from philly_analysis.errors import ModelError
from philly_analysis.models.components.load_dependence import load_correlation

BURST_S = 60
MAX_DURATION_CORRELATION = 0.95


@dataclass(frozen=True, slots=True)
class VirtualCluster:
    """One virtual cluster.

    Attributes
    ----------
    vc
        Name of the virtual cluster.
    user_shares
        Share of all jobs that each user submits to this virtual cluster, descending.
    users
        Names of the users; if empty, users are numbered. A user of several virtual clusters is
        named after the virtual cluster with most of the user's jobs.
    """

    vc: str
    user_shares: tuple[float, ...]
    users: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the virtual cluster's users."""
        return self.users or _numbered(self.vc, len(self.user_shares))

    @property
    def share(self) -> float:
        """Share of all jobs."""
        return sum(self.user_shares)


@dataclass(frozen=True, slots=True)
class Users:
    """Users and virtual clusters.

    Attributes
    ----------
    virtual_clusters
        Virtual clusters by descending share.
    n
        Number of jobs fitted to.
    named
        Whether users were known; otherwise each virtual cluster counts as one user.
    repeat_in_burst, repeat_otherwise
        Probability that a job has the user of the previous job, in excess of chance, within
        `BURST_S` seconds of the previous job and later.
    repeat_gang, repeat_status
        Probability that a user's next job has the gang size and the status of the previous one,
        in excess of chance.
    duration_correlation
        Correlation of the normal scores of the run times of a user's successive jobs of one gang
        size.
    load_correlation
        Rank correlation of the jobs of an hour with the mean normal score of their run times:
        below 0, busy hours have shorter jobs.
    """

    virtual_clusters: tuple[VirtualCluster, ...]
    n: int
    named: bool
    repeat_in_burst: float
    repeat_otherwise: float
    repeat_gang: float
    repeat_status: float
    duration_correlation: float
    load_correlation: float = 0.0

    @classmethod
    def fit(cls, jobs: pd.DataFrame) -> Self:
        """Fit to jobs.

        Parameters
        ----------
        jobs
            Columns submitted_s, vc, user (null: unknown), gpus, status, run_s.

        Raises
        ------
        ModelError
            No jobs.
        """
        if jobs.empty:
            raise ModelError("users: there are no jobs")
        frame = _with_keys(jobs.sort_values("submitted_s", kind="stable").reset_index(drop=True))
        share = _share_by_user(frame)
        clusters = []
        for vc, part in _named(share).groupby("vc"):
            shares = tuple(float(f"{v:.6g}") for v in part["share"])
            names = tuple(part["name"])
            numbered = names == _numbered(str(vc), len(names))
            clusters.append(VirtualCluster(str(vc), shares, () if numbered else names))
        clusters.sort(key=lambda c: (-c.share, c.vc))
        user = frame.groupby(["vc", "user"], sort=False).ngroup().to_numpy()
        gap = np.diff(frame["submitted_s"].to_numpy(float))
        same = user[1:] == user[:-1]
        chance = float((share**2).sum())
        order = np.argsort(user, kind="stable")
        ordered = user[order]
        follows = ordered[1:] == ordered[:-1]

        def repeat_of(values: NDArray[np.generic]) -> float:
            """Return the repetition within users, in excess of each user's own mix of values."""
            by_user = values[order]
            pairs = pd.DataFrame({"user": ordered, "value": by_user})
            counts = pairs.groupby(["user", "value"]).size()
            total = counts.groupby("user").transform("sum")
            mix = float((counts * counts / total).sum() / counts.sum())
            return _excess((by_user[1:] == by_user[:-1])[follows], mix)

        return cls(
            virtual_clusters=tuple(clusters),
            n=len(frame),
            named=bool(jobs["user"].notna().any()),
            repeat_in_burst=_excess(same[gap <= BURST_S], chance),
            repeat_otherwise=_excess(same[gap > BURST_S], chance),
            repeat_gang=repeat_of(frame["gpus"].to_numpy()),
            repeat_status=repeat_of(frame["status"].fillna("").to_numpy(str)),
            duration_correlation=_duration_correlation(
                frame["gpus"].to_numpy()[order], _scores(frame)[order], follows
            ),
            load_correlation=load_correlation(
                frame["submitted_s"].to_numpy(float), _scores(frame.assign(vc="", gpus=1))
            ),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the virtual clusters, by descending share."""
        return tuple(c.vc for c in self.virtual_clusters)

    @property
    def by_user(self) -> dict[str, float]:
        """Share of all jobs of each user, over all virtual clusters."""
        total: dict[str, float] = {}
        for cluster in self.virtual_clusters:
            for name, share in zip(cluster.names, cluster.user_shares, strict=True):
                total[name] = total.get(name, 0.0) + share
        return total

    @property
    def top_tenth_share(self) -> float:
        """Share of the jobs of the busiest tenth of the users."""
        shares = sorted(self.by_user.values(), reverse=True)
        return sum(shares[: max(1, round(len(shares) / 10))])

    def sample(
        self, at_s: Floats, rng: np.random.Generator
    ) -> tuple[NDArray[np.str_], NDArray[np.str_], Ints]:
        """Draw the user of each job.

        Parameters
        ----------
        at_s
            Shape (n,): submissions in s, ascending.

        Returns
        -------
        tuple
            Virtual cluster and user of each job, and the user as a number (all shape (n,)).
        """
        gap = np.diff(at_s, prepend=-np.inf)
        repeat = np.where(gap <= BURST_S, self.repeat_in_burst, self.repeat_otherwise)
        score, _ = repeated_scores(repeat, rng, np.zeros(at_s.size, int), at_s.size)
        u = stratified_uniforms(score, rng)
        shares = np.array([s for c in self.virtual_clusters for s in c.user_shares])
        index = np.minimum(np.searchsorted(np.cumsum(shares) / shares.sum(), u), shares.size - 1)
        vc = np.repeat(self.names, [len(c.user_shares) for c in self.virtual_clusters])
        user = np.array([name for c in self.virtual_clusters for name in c.names])
        return vc[index], user[index], index


def with_sample_names(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs (columns vc, user) with the names that samples give their users."""
    if jobs["user"].isna().all():
        return jobs
    frame = _with_keys(jobs[["vc", "user"]])
    names = _named(_share_by_user(frame))["name"].reset_index()
    return jobs.assign(user=frame.merge(names, on=["vc", "user"], how="left")["name"].to_numpy())


def _with_keys(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs with virtual clusters as strings; unknown users are one user of each."""
    user, vc = jobs["user"].astype(object), jobs["vc"].astype(str)
    return jobs.assign(vc=vc, user=user.where(user.notna(), "\0" + vc))


def _share_by_user(frame: pd.DataFrame) -> pd.Series:
    """Return the share of the jobs of each user of each virtual cluster, descending."""
    share = frame.groupby(["vc", "user"]).size() / len(frame)
    return share.sort_values(ascending=False, kind="stable")


def _named(share: pd.Series) -> pd.DataFrame:
    """Name users by the virtual cluster with most of their jobs, and their rank in it.

    Returns
    -------
    pandas.DataFrame
        Rows by virtual cluster and user, in the order of `share`: share, name.
    """
    frame = share.rename("share").reset_index()
    home = frame.drop_duplicates("user")  # the first of descending shares
    rank = home.groupby("vc").cumcount() + 1
    names = [f"{vc}-u{r:03d}" for vc, r in zip(home["vc"], rank, strict=True)]
    named = frame["user"].map(dict(zip(home["user"], names, strict=True)))
    return frame.assign(name=named).set_index(["vc", "user"])


def _numbered(vc: str, count: int) -> tuple[str, ...]:
    return tuple(f"{vc}-u{i + 1:03d}" for i in range(count))


def _excess(same: Bools, chance: float) -> float:
    """Return the probability of repetition in excess of chance, 0 to 1."""
    if same.size < 2 or chance >= 1:
        return 0.0
    return round(float(np.clip((same.mean() - chance) / (1 - chance), 0, 0.999)), 4)


def _scores(frame: pd.DataFrame) -> Floats:
    """Return normal scores of run times within gang size and virtual cluster; nan: unknown."""
    run_s = frame.groupby(["vc", "gpus"])["run_s"]
    level = (run_s.rank() - 0.5) / run_s.transform("size")
    return np.asarray(scipy.stats.norm.ppf(level.to_numpy()))


def _duration_correlation(gpus: Ints, score: Floats, follows: Bools) -> float:
    """Return the lag-1 correlation of scores of a user's successive jobs of one gang size."""
    product = score[1:] * score[:-1]
    pair = follows & (gpus[1:] == gpus[:-1]) & np.isfinite(product)
    if pair.sum() < 20:
        return 0.0
    value = float(np.mean(product[pair]))
    return round(float(np.clip(value, 0, MAX_DURATION_CORRELATION)), 4)
