"""List the policies that a cluster may have, to be compared with its recorded waits."""

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
)
from philly_analysis.workload import Estimates


class Candidate(NamedTuple):
    """A policy that the cluster may have, with the estimates that it plans by."""

    name: str
    policy: Policy
    estimates: Estimates = Estimates()


_H = 3600.0
_LIMITS = Estimates(requested=True)

CANDIDATES = (
    Candidate("first come, first served", Fifo()),
    Candidate("first come, first served; smaller jobs pass", Fifo(backfill=True)),
    Candidate("EASY backfilling", Easy()),
    Candidate("EASY backfilling by time limits", Easy(), _LIMITS),
    Candidate("conservative backfilling", Conservative()),
    Candidate("shortest job first", Sjf()),
    Candidate("least predicted GPU time first", Qssf()),
    Candidate("quotas with borrowing, gangs hold GPUs", Philly()),
    Candidate("quotas with borrowing, patient gangs", Philly(asks=6)),
    Candidate("max-min fairness over users", MaxMin(of="user")),
    Candidate("max-min fairness over virtual clusters", MaxMin(of="vc")),
    Candidate("dominant resource fairness", Drf()),
    Candidate("backfilling, priority to large jobs", Easy(size_s=_H), _LIMITS),
    Candidate("backfilling, priority to small jobs", Easy(size_s=-_H), _LIMITS),
    Candidate("backfilling, priority by fair share", Easy(share_s=7 * 24 * _H), _LIMITS),
)
"""Of near ties the first is preferred, so that simpler policies come first.

The priorities are a grid of Slurm's weights of size and fair share, relative to that of age.
"""


def without_limits(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates for a log without time limits: each policy once, with exact estimates."""
    exact: dict[Policy, Candidate] = {}
    for each in candidates:
        exact.setdefault(each.policy, each._replace(estimates=Estimates()))
    return list(exact.values())
