"""Count the use of running jobs against limits of accounts, users, QOS and partitions."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.limit import Limit
from philly_analysis.workload import JobSpec

_ROUNDING = 1e-6

Key = tuple[str, str]
"""Name of a limit, and the user or account that the limit counts; empty: all together."""


class LimitUse:
    """Use of each limit by running jobs. A job that would exceed a limit does not start.

    Slurm checks limits before servers, and a job beyond a limit blocks no other job (slurm.conf,
    ``AccountingStorageEnforce=limits``; ``SchedulerParameters`` without ``assoc_limit_stop``).
    """

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._limits = limits
        self._used: defaultdict[Key, float] = defaultdict(float)
        self._of = cache(self._counted)

    def count(self, running: Iterable[Job]) -> None:
        """Count the jobs that run now, and no others."""
        self._used.clear()
        if self._limits:
            for job in running:
                self.add(job)

    def add(self, job: Job, sign: int = 1) -> None:
        """Count a job that starts, or (sign -1) stops."""
        for key, resource, _ in self._of(_who(job.spec)):
            self._used[key] += sign * _amount(job.spec, resource)

    def allows(self, job: Job, *, counts: bool = False) -> bool:
        """Return whether a job may start now.

        A limit that the job alone exceeds does not count: the job would never start.

        Parameters
        ----------
        counts
            Whether only limits on the number of jobs are checked. Slurm checks other limits after
            finding servers (``acct_policy_job_runnable_pre_select`` and ``_post_select``).
        """
        for key, resource, most in self._of(_who(job.spec)):
            if counts and resource != "jobs":
                continue
            amount = _amount(job.spec, resource)
            if amount <= most + _ROUNDING < self._used[key] + amount:
                return False
        return True

    def _counted(self, who: tuple[str, ...]) -> list[tuple[Key, str, float]]:
        """Return the limits that a job counts against, with their resource and amount."""
        account, user, qos, vc = who
        per = {"user": user, "account": account, None: ""}
        return [
            ((limit.name, per[limit.per]), limit.resource, limit.amount)
            for limit in self._limits
            if limit.account in (None, account)
            and limit.user in (None, user)
            and limit.qos in (None, qos)
            and limit.vc in (None, vc)
        ]


def _who(spec: JobSpec) -> tuple[str, ...]:
    return spec.account, spec.user, spec.qos, spec.vc


def _amount(spec: JobSpec, resource: str) -> float:
    """Return how much of a resource a running job holds; 0: not known."""
    if resource == "gpus":
        return spec.gpus
    if resource == "jobs":
        return 1
    if resource == "servers":
        return len(spec.gpus_by_server) or 1
    return (spec.cpus if resource == "cpus" else spec.mem_gb) or 0.0
