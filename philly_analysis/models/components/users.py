"""Who submits: how skewed users and virtual clusters are, and how much they repeat themselves."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from philly_analysis.distributions import evenly, runs
from philly_analysis.errors import ModelError
from philly_analysis.models.components.load_dependence import crowding

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

BURST_S = 60
MAX_DURATION_CORRELATION = 0.95


@dataclass(frozen=True, slots=True)
class VirtualCluster:
    """One virtual cluster.

    Attributes
    ----------
    vc
        Its name.
    user_shares
        Of each of its users, the share of all jobs that they submit to it, descending.
    users
        Their names, where some of them submit elsewhere, too, and are named for there; else they
        are numbered.
    """

    vc: str
    user_shares: tuple[float, ...]
    users: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its users."""
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
        By descending share.
    n
        Jobs that it was fitted to.
    named
        Whether users were known; otherwise each virtual cluster counts as one user.
    repeat_in_burst, repeat_otherwise
        Probability that a job is by the user of the job before it, beyond chance, within
        `BURST_S` seconds of it and later.
    repeat_gang, repeat_status
        Probability that a user's next job has the gang and the ending of the one before, beyond
        chance.
    duration_correlation
        Correlation of the normal scores of the run times of a user's successive jobs of one gang.
    crowding
        Rank correlation of the jobs of an hour with the mean normal score of their run times:
        below 0, busy hours bring shorter jobs.
    """

    virtual_clusters: tuple[VirtualCluster, ...]
    n: int
    named: bool
    repeat_in_burst: float
    repeat_otherwise: float
    repeat_gang: float
    repeat_status: float
    duration_correlation: float
    crowding: float = 0.0

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
        named = bool(jobs["user"].notna().any())
        frame = jobs.sort_values("submitted_s", kind="stable").reset_index(drop=True)
        frame["vc"] = frame["vc"].astype(str)
        frame["user"] = frame["user"].astype(object).where(frame["user"].notna(), "")
        share = _by_share(frame)
        clusters = []
        for vc, part in _named(share).groupby("vc"):
            shares = tuple(float(f"{v:.6g}") for v in part["share"])
            names = tuple(part["name"])
            plain = names == _numbered(str(vc), len(names))
            clusters.append(VirtualCluster(str(vc), shares, () if plain else names))
        clusters.sort(key=lambda c: (-c.share, c.vc))
        who = frame.groupby(["vc", "user"], sort=False).ngroup().to_numpy()
        gap = np.diff(frame["submitted_s"].to_numpy(float))
        same = who[1:] == who[:-1]
        chance = float((share**2).sum())
        order = np.argsort(who, kind="stable")
        follows = who[order][1:] == who[order][:-1]
        gangs = frame["gpus"].to_numpy()[order]
        # A user's chance of repeating a gang is what the user's own mix gives.
        own = pd.DataFrame({"who": who[order], "gpus": gangs})
        return cls(
            virtual_clusters=tuple(clusters),
            n=len(frame),
            named=named,
            repeat_in_burst=_beyond(same[gap <= BURST_S], chance),
            repeat_otherwise=_beyond(same[gap > BURST_S], chance),
            repeat_gang=_beyond((gangs[1:] == gangs[:-1])[follows], _mixing(own, "gpus")),
            repeat_status=_repeat_of(
                frame["status"].fillna("").to_numpy(str)[order], follows, who[order]
            ),
            duration_correlation=_clinging(frame, order, follows),
            crowding=crowding(
                frame["submitted_s"].to_numpy(float), _scores(frame.assign(vc="", gpus=1))
            ),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the virtual clusters, by descending share."""
        return tuple(c.vc for c in self.virtual_clusters)

    @property
    def by_user(self) -> dict[str, float]:
        """Share of all jobs of each user, in all virtual clusters."""
        total: dict[str, float] = {}
        for cluster in self.virtual_clusters:
            for name, share in zip(cluster.names, cluster.user_shares, strict=True):
                total[name] = total.get(name, 0.0) + share
        return total

    @property
    def top_tenth_share(self) -> float:
        """Share of the jobs that the busiest tenth of the users submit."""
        shares = sorted(self.by_user.values(), reverse=True)
        return sum(shares[: max(1, round(len(shares) / 10))])

    def sample(
        self, at_s: Floats, rng: np.random.Generator
    ) -> tuple[NDArray[np.str_], NDArray[np.str_], Ints]:
        """Draw who submits each job.

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
        score, _ = runs(repeat, rng, np.zeros(at_s.size, int), at_s.size)
        u = evenly(score, rng)
        shares = np.array([s for c in self.virtual_clusters for s in c.user_shares])
        who = np.minimum(np.searchsorted(np.cumsum(shares) / shares.sum(), u), shares.size - 1)
        vc = np.repeat(self.names, [len(c.user_shares) for c in self.virtual_clusters])
        user = np.array([name for c in self.virtual_clusters for name in c.names])
        return vc[who], user[who], who


def _by_share(frame: pd.DataFrame) -> pd.Series:
    """Return the share of the jobs of each user of each virtual cluster, descending."""
    share = frame.groupby(["vc", "user"]).size() / len(frame)
    return share.sort_values(ascending=False, kind="stable")


def labelled(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs (columns vc, user) with their users named as samples name them."""
    if jobs["user"].isna().all():
        return jobs
    frame = pd.DataFrame({"vc": jobs["vc"].astype(str), "user": jobs["user"].astype(object)})
    frame["user"] = frame["user"].where(frame["user"].notna(), "")
    names = _named(_by_share(frame))["name"].reset_index()
    return jobs.assign(user=frame.merge(names, on=["vc", "user"], how="left")["name"].to_numpy())


def _named(share: pd.Series) -> pd.DataFrame:
    """Name users by where they submit most, and their rank among those who do so there.

    Returns
    -------
    pandas.DataFrame
        By virtual cluster and user, in the order given: share, name.
    """
    frame = share.rename("share").reset_index()
    home = frame.drop_duplicates("user")  # of descending shares the first
    if (home["user"] == "").any():  # whose jobs are not known is nobody who goes elsewhere
        home = pd.concat((home[home["user"] != ""], frame[frame["user"] == ""])).sort_index()
    rank = home.groupby("vc").cumcount() + 1
    name = [f"{vc}-u{r:03d}" for vc, r in zip(home["vc"], rank, strict=True)]
    of = dict(zip(home["user"], name, strict=True))
    unknown = {v: n for v, u, n in zip(home["vc"], home["user"], name, strict=True) if u == ""}
    frame["name"] = [
        unknown[v] if u == "" else of[u] for v, u in zip(frame["vc"], frame["user"], strict=True)
    ]
    return frame.set_index(["vc", "user"])


def _numbered(vc: str, count: int) -> tuple[str, ...]:
    return tuple(f"{vc}-u{i + 1:03d}" for i in range(count))


def _beyond(same: NDArray[np.bool_], chance: float) -> float:
    """Return what repetition adds to chance, 0 to 1."""
    if same.size < 2 or chance >= 1:
        return 0.0
    return round(float(np.clip((same.mean() - chance) / (1 - chance), 0, 0.999)), 4)


def _mixing(frame: pd.DataFrame, column: str) -> float:
    """Probability that two jobs of one user agree in a column, by chance."""
    counts = frame.groupby(["who", column]).size()
    total = counts.groupby("who").transform("sum")
    return float((counts * counts / total).sum() / counts.sum())


def _repeat_of(values: NDArray[np.str_], follows: NDArray[np.bool_], who: Ints) -> float:
    frame = pd.DataFrame({"who": who, "value": values})
    return _beyond((values[1:] == values[:-1])[follows], _mixing(frame, "value"))


def _scores(frame: pd.DataFrame) -> Floats:
    """Return normal scores of run times within gang and virtual cluster; nan: not known."""
    of = frame.groupby(["vc", "gpus"])["run_s"]
    return np.asarray(scipy.stats.norm.ppf(((of.rank() - 0.5) / of.transform("size")).to_numpy()))


def _clinging(frame: pd.DataFrame, order: Ints, follows: NDArray[np.bool_]) -> float:
    """Lag-1 correlation of run times, as normal scores within gang and virtual cluster."""
    s, g = _scores(frame)[order], frame["gpus"].to_numpy()[order]
    pair = follows & (g[1:] == g[:-1]) & np.isfinite(s[1:] * s[:-1])
    if pair.sum() < 20:
        return 0.0
    value = float(np.mean(s[1:][pair] * s[:-1][pair]))
    return round(float(np.clip(value, 0, MAX_DURATION_CORRELATION)), 4)
