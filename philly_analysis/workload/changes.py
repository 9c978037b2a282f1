"""Changes of a workload's jobs that a simulation applies: runs, estimates, servers, retries."""

from dataclasses import dataclass, field, replace
from typing import Self

from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.results import count
from philly_analysis.study import RunPolicy
from philly_analysis.workload.estimates import Estimates, estimates_of


@dataclass(frozen=True, slots=True)
class Prerun:
    """A first run of every gang on one GPU of a few servers.

    A user error within ``limit_s`` fails there, and its retry runs there, too. Any other run is
    stopped after ``limit_s``, at its own end at the latest, and starts anew on the other servers.

    Attributes
    ----------
    servers
        Number of servers for first runs. These servers are the last machines of the cluster.
    limit_s
        Length of a first run (s).

    Raises
    ------
    SimulationError
        There is no server, or the length is not a positive number.
    """

    servers: int
    limit_s: float = 600.0

    def __post_init__(self) -> None:
        if self.servers < 1 or not 0 < self.limit_s < float("inf"):
            raise SimulationError(
                f"a pre-run of {self.limit_s:g} s on {self.servers} servers is impossible; give at "
                "least one server and one second."
            )

    @property
    def note(self) -> str:
        """A sentence on the pre-run."""
        return (
            f"Gangs run on one GPU of {count(self.servers, 'server')} first: a user error within "
            f"{self.limit_s:g} s fails there; other runs then start anew on the other servers."
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of jobs that a simulation applies, since no table has a column for them.

    Attributes
    ----------
    run_policy
        Definition of the run time of jobs that are one run each; None: attempt after attempt.
    estimates
        Estimates of run times that policies plan by.
    dedicated
        Whether gangs have their servers to themselves.
    user_retries
        Whether runs that fail by a user error are retried.
    prerun
        Servers on which gangs run on one GPU first; None: no pre-run.
    """

    run_policy: RunPolicy | None = None
    estimates: Estimates = field(default_factory=Estimates)
    dedicated: bool = False
    user_retries: bool = True
    prerun: Prerun | None = None

    def names(self) -> tuple[str, ...]:
        """Return the method that makes each change."""
        made = {
            "as_runs": self.run_policy is not None,
            "with_estimates": not self.estimates.exact,
            "dedicated": self.dedicated,
            "without_user_retries": not self.user_retries,
            "with_prerun": self.prerun is not None,
        }
        return tuple(name for name, is_made in made.items() if is_made)


class Changeable:
    """Jobs that can be changed before they are simulated.

    Each method returns a changed copy. A simulation applies the change, and draws what it needs
    with its own seed.
    """

    __slots__ = ()
    changes: Changes

    def as_runs(self, run_policy: RunPolicy | str = RunPolicy.SUM) -> Self:
        """Treat each job as one run, as exports do, in place of attempt after attempt.

        Parameters
        ----------
        run_policy
            Definition of the run time: ``sum`` of the attempts, ``span`` from first start to last
            end, or the ``last`` attempt.

        Raises
        ------
        UnknownNameError
            The run policy is not known.
        """
        if run_policy not in list(RunPolicy):
            raise UnknownNameError("run policy", run_policy, list(RunPolicy))
        return self.with_changes(replace(self.changes, run_policy=RunPolicy(run_policy)))

    def with_estimates(self, estimates: Estimates | str) -> Self:
        """Let policies plan by estimates of run times.

        Parameters
        ----------
        estimates
            Kind of estimates: ``exact``, ``requested`` (time limits) or ``noisy:SIGMA``.

        Raises
        ------
        SimulationError
            The kind of estimates is not known.
        """
        kind = estimates_of(estimates) if isinstance(estimates, str) else estimates
        return self.with_changes(replace(self.changes, estimates=kind))

    def dedicated(self) -> Self:
        """Give gangs their servers to themselves."""
        return self.with_changes(replace(self.changes, dedicated=True))

    def without_user_retries(self) -> Self:
        """End each job at its first user error.

        Reasons of failures that the log lacks are drawn from the study's Table 7.
        """
        return self.with_changes(replace(self.changes, user_retries=False))

    def with_prerun(self, servers: int, limit_s: float = 600.0) -> Self:
        """Run gangs on one GPU first, so that user errors show early.

        Parameters
        ----------
        servers
            Number of servers for first runs.
        limit_s
            Length of a first run (s).

        Raises
        ------
        SimulationError
            There is no server, or the length is not a positive number.
        """
        return self.with_changes(replace(self.changes, prerun=Prerun(servers, limit_s)))

    def with_changes(self, changes: Changes) -> Self:
        """Return the jobs with these changes in place of their own."""
        return replace(self, changes=changes)  # type: ignore[type-var]  # subclasses are dataclasses
