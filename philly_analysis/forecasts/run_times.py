"""Draw run times of jobs from past jobs of the same user and gang size, given the elapsed time."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.study import gang_class
from philly_analysis.workload import JobSpec

FEWEST = 20
"""Fewest past runs of a group for draws from the group (chosen: a step is 5 %)."""


def _groups(spec: JobSpec) -> Iterator[Hashable]:
    """Yield the groups of a job, the narrowest first."""
    yield spec.user, spec.gpus
    yield int(gang_class(spec.gpus))
    yield None


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Run times of past jobs by group, ascending.

    Attributes
    ----------
    seconds
        Run times (s) by group: user and gang size, gang class, all jobs.
    shares
        Run times in multiples of the time limit, of jobs with a limit, by group.
    """

    seconds: dict[Hashable, Floats]
    shares: dict[Hashable, Floats]

    @classmethod
    def of(cls, specs: Iterable[JobSpec]) -> "RunTimes":
        """Collect the run times of jobs that have ended."""
        seconds, shares = (
            defaultdict[Hashable, list[float]](list),
            defaultdict[Hashable, list[float]](list),
        )
        for spec in specs:
            for group in _groups(spec):
                seconds[group].append(spec.run_s)
                if spec.time_limit_s:
                    shares[group].append(spec.run_s / spec.time_limit_s)
        return cls(*({g: np.sort(runs) for g, runs in by.items()} for by in (seconds, shares)))

    def draw(self, spec: JobSpec, elapsed_s: float, rng: np.random.Generator) -> float:
        """Return a drawn run time of a job that has run for some time already.

        Jobs with a time limit are drawn in multiples of the limit. A run that is longer than all
        past runs lasts twice the elapsed time.
        """
        limit_s = spec.time_limit_s or inf
        for unit, by in ((limit_s, self.shares), (1.0, self.seconds)):
            if unit == inf:
                continue
            for group in _groups(spec):
                runs = by.get(group)
                if runs is None or len(runs) < FEWEST:
                    continue
                longer = np.searchsorted(runs, elapsed_s / unit, "right")
                if longer < len(runs):
                    return float(runs[rng.integers(longer, len(runs))]) * unit
        return max(elapsed_s, min(2 * elapsed_s, limit_s), 1.0)
