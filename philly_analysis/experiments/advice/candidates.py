"""List the policies that a cluster may have, for comparison with recorded waits."""

from collections.abc import Iterable
from typing import NamedTuple

from philly_analysis.simulator.policies import (
    Conservative,
    Drf,
    Easy,
    Fifo,
    MaxMin,
    Philly,
    Policy,
    Qssf,
    Sjf,
    Slurm,
)
from philly_analysis.workload import Estimates


class Candidate(NamedTuple):
    """A policy that the cluster may have, with the estimates that the policy plans by.

    Attributes
    ----------
    without_quotas
        Name for clusters without quotas; empty: the same.
    shares
        Whether the policy shares GPUs between virtual clusters.
    caps
        Whether the policy has limits of accounts, users, QOS and partitions.
    """

    name: str
    policy: Policy
    estimates: Estimates = Estimates()
    without_quotas: str = ""
    shares: bool = False
    caps: bool = False


_H = 3600.0
_LIMITS = Estimates(requested=True)
_MANY = 100_000
"""Jobs that a scheduler considers: all."""

CANDIDATES = (
    Candidate("first come, first served", Fifo()),
    Candidate("first come, first served; smaller jobs pass", Fifo(backfill=True)),
    Candidate("EASY backfilling", Easy()),
    Candidate("EASY backfilling by time limits", Easy(), _LIMITS),
    Candidate("conservative backfilling", Conservative()),
    Candidate(
        "first come, first served within limits",
        Slurm(backfill=False, default_queue_depth=_MANY, batch_sched_delay=0.0, epilog=0.0),
        caps=True,
    ),
    Candidate(
        "backfilling by time limits within limits",
        Slurm(
            bf_job_part_count_reserve=1,
            bf_window=43_200.0,
            bf_max_job_test=_MANY,
            default_queue_depth=_MANY,
            batch_sched_delay=0.0,
            epilog=0.0,
        ),
        caps=True,
    ),
    Candidate("shortest job first", Sjf()),
    Candidate("least predicted GPU time first", Qssf()),
    Candidate(
        "quotas with borrowing, gangs hold GPUs",
        Philly(),
        without_quotas="gangs hold free GPUs in turns",
    ),
    Candidate(
        "quotas with borrowing, patient gangs",
        Philly(asks=6),
        without_quotas="gangs hold free GPUs in turns, and spread over servers late",
    ),
    Candidate("max-min fairness over users", MaxMin(of="user")),
    Candidate("max-min fairness over virtual clusters", MaxMin(of="vc"), shares=True),
    Candidate("dominant resource fairness", Drf()),
    Candidate("backfilling, priority to large jobs", Easy(size_s=_H), _LIMITS),
    Candidate("backfilling, priority to small jobs", Easy(size_s=-_H), _LIMITS),
    Candidate(
        "backfilling, priority by fair share", Easy(share_s=7 * 24 * _H), _LIMITS, shares=True
    ),
)
"""The first of several near ties is preferred, so that simpler policies come first.

The priorities are a grid of Slurm's weights of size and fair share, relative to the weight of age.
"""


def fitting(
    candidates: Iterable[Candidate], *, limits: bool, quotas: bool, caps: bool, vcs: int
) -> list[Candidate]:
    """Return the candidates that a log can have, with names that fit the log.

    Parameters
    ----------
    limits
        Whether jobs have time limits. Otherwise each policy is a candidate once, with exact
        estimates.
    quotas
        Whether virtual clusters have quotas.
    caps
        Whether limits of accounts, users, QOS or partitions are known.
    vcs
        Number of virtual clusters; policies that share between them need two.
    """
    policies: dict[tuple[Policy, Estimates], Candidate] = {}
    for candidate in candidates:
        if (vcs < 2 and candidate.shares) or (candidate.caps and not caps):
            continue
        estimates = candidate.estimates if limits else Estimates()
        name = candidate.name if quotas else candidate.without_quotas or candidate.name
        named = candidate._replace(name=name, estimates=estimates)
        policies.setdefault((candidate.policy, estimates), named)
    return list(policies.values())
