"""Compute Slurm's multifactor priority, with fair shares by Fair Tree and decaying use."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from philly_analysis.simulator.policies.slurm.settings import Share
from philly_analysis.workload import JobSpec

ROOT = "root"
"""Account above all others."""

Owner = tuple[str, str]
"""Account and user."""


class FairTree:
    """Fair-share factors of users (Slurm, "Fair Tree Fairshare Algorithm").

    On each level of the tree of accounts, siblings are ranked by their share over their use. Users
    take the ranks of their accounts first. The factor is the rank, counted from the last user, over
    the number of users; equal users have equal factors.

    Parameters
    ----------
    shares
        Shares of accounts and users; all others have equal shares.
    owners
        Accounts and users of the jobs.
    """

    def __init__(self, shares: Sequence[Share], owners: Iterable[Owner]) -> None:
        self._shares: dict[Owner, float] = {}
        self._parents: dict[str, str] = {}
        for share in shares:
            self._shares[share.account, share.user] = share.shares
            if not share.user and share.account != ROOT:
                self._parents[share.account] = share.parent or ROOT
        users = dict.fromkeys((s.account, s.user) for s in shares if s.user)
        self._users = list(dict.fromkeys([*users, *owners]))
        for account, _ in self._users:
            if account != ROOT:
                self._parents.setdefault(account, ROOT)
        self._used: defaultdict[Owner, float] = defaultdict(float)

    def charge(self, owner: Owner, used: float) -> None:
        """Add use to a user and to all accounts above."""
        account, _ = owner
        self._used[owner] += used
        while True:
            self._used[account, ""] += used
            if account == ROOT or account not in self._parents:
                return
            account = self._parents[account]

    def decay(self, factor: float) -> None:
        """Multiply all use by a factor."""
        for owner in self._used:
            self._used[owner] *= factor

    def factors(self) -> dict[Owner, float]:
        """Return the fair-share factor of each user, from 0 to 1."""
        children: defaultdict[str, list[Owner]] = defaultdict(list)
        for account, parent in self._parents.items():
            children[parent].append((account, ""))
        for account, user in self._users:
            children[account].append((account, user))
        factors: dict[Owner, float] = {}
        users = len(self._users)
        for tied in self._tied(children[ROOT], children):
            factor = (users - len(factors)) / users
            factors |= dict.fromkeys(tied, factor)
        return factors

    def _tied(
        self, siblings: Sequence[Owner], children: Mapping[str, Sequence[Owner]]
    ) -> Iterator[list[Owner]]:
        """Yield users that tie, the best first; accounts that tie merge their children."""
        levels = self._levels(siblings)
        for level in sorted(set(levels.values()), reverse=True):
            tied = [owner for owner in siblings if levels[owner] == level]
            if users := [owner for owner in tied if owner[1]]:
                yield users
            below = [child for owner in tied if not owner[1] for child in children[owner[0]]]
            if below:
                yield from self._tied(below, children)

    def _levels(self, siblings: Sequence[Owner]) -> dict[Owner, float]:
        """Return each sibling's share over the sibling's use; infinite without use."""
        shares = sum(self._shares.get(owner, 1.0) for owner in siblings) or 1.0
        used = sum(self._used[owner] for owner in siblings)
        return {
            owner: (self._shares.get(owner, 1.0) / shares) / (self._used[owner] / used)
            if self._used[owner]
            else inf
            for owner in siblings
        }


def size_factor(spec: JobSpec, servers: int, cpus: float, gpus: int, *, small: bool) -> float:
    """Return the job-size factor (slurm.conf, PriorityWeightJobSize and PriorityFavorSmall).

    The factor is the mean of the job's share of the servers and share of the CPUs. Where CPUs are
    not known, the share of the GPUs replaces the share of the CPUs.

    Parameters
    ----------
    servers, cpus, gpus
        Size of the cluster.
    small
        Whether small jobs have the greater factor.
    """
    of_servers = (len(spec.gpus_by_server) or 1) / servers
    of_cpus = spec.cpus / cpus if spec.cpus and cpus else spec.gpus / gpus
    size = min((of_servers + of_cpus) / 2, 1.0)
    return 1 - size if small else size
