"""QSSF: order jobs by GPU time predicted from their users' earlier jobs."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import ClassVar, Self

from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.preemption import CONSOLIDATE
from philly_analysis.simulator.policies.priority import BACKFILL, FIRST_FIT, start_in_order
from philly_analysis.simulator.policies.view import Decision, View
from philly_analysis.workload import JobSpec


@dataclass(frozen=True)
class Qssf(Policy):
    """Quasi-shortest service first: least predicted GPU time first, without preemption.

    A job's run time is predicted once, at its submission. The prediction is a rolling mean, in
    which the newest run time has the weight ``newest``. The mean is over ended jobs of the same
    user and gang size; without any, of the same user; of the same gang size; of all. Before any job
    has ended the prediction is one second. Jobs are taken to end as if none had waited, so that
    predictions do not depend on the policy.

    Helios averages this with gradient-boosted trees (half and half), and searches jobs of similar
    names, which traces do not have; neither is modelled.
    """

    name = "qssf"
    SOURCE = "Hu et al., Helios, SC'21, section 4.2: the rolling estimate"
    steady = True
    fractional = True

    backfill: bool = knob(False, BACKFILL)
    consolidate: bool = knob(False, CONSOLIDATE)
    first_fit: bool = knob(False, FIRST_FIT)
    newest: float = knob(
        0.5, "weight of the newest run time in the rolling mean", within=Bounds(0.001, 1)
    )

    _predicted: ClassVar[Mapping[str, float]] = {}

    def prepare(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with a prediction for each job."""
        prepared = replace(self)
        object.__setattr__(prepared, "_predicted", predicted_gpu_s(specs, self.newest))
        return prepared

    def group(self, job: Job, now_s: float) -> Hashable:
        """Return one group for all jobs, or one per request."""
        return job.request if self.backfill else 0

    def key(self, job: Job, now_s: float) -> float:
        """Return the job's predicted GPU-seconds."""
        return self._predicted[job.spec.job_id]

    def decide(self, view: View) -> Decision:
        """Start waiting jobs, the least predicted GPU time first."""
        return start_in_order(view, consolidate=self.consolidate, first_fit=self.first_fit)


def predicted_gpu_s(specs: Sequence[JobSpec], newest: float) -> dict[str, float]:
    """Return the predicted GPU-seconds of each job (see :class:`Qssf`).

    Parameters
    ----------
    specs
        Jobs in the order of submission.
    newest
        Weight of the newest run time.
    """
    means: dict[tuple[str | int, ...], float] = {}
    ends: list[tuple[float, int]] = []
    predicted: dict[str, float] = {}
    for nth, spec in enumerate(specs):
        while ends and ends[0][0] <= spec.submit_s:
            done = specs[heappop(ends)[1]]
            for group in _groups(done):
                old = means.get(group, done.run_s)
                means[group] = newest * done.run_s + (1 - newest) * old
        rolling = (means[group] for group in _groups(spec) if group in means)
        predicted[spec.job_id] = spec.gpus * spec.gpu_frac * next(rolling, 1.0)
        heappush(ends, (spec.submit_s + spec.run_s, nth))
    return predicted


def _groups(spec: JobSpec) -> tuple[tuple[str | int, ...], ...]:
    """Return the groups of jobs whose run times predict a job's, the most specific first."""
    return (spec.user, spec.gpus), (spec.user,), (spec.gpus,), ()
