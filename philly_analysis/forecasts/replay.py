"""Forecast waits by simulating the recorded queue under the policy that reproduces the log's waits.

Run times of running and waiting jobs are drawn from past run times. Jobs that are submitted later
are a block of past submissions, because some policies let later jobs pass.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.errors import SimulationError
from philly_analysis.forecasts.run_times import RunTimes
from philly_analysis.simulator import (
    Allocation,
    Cluster,
    Decision,
    Job,
    Policy,
    Simulation,
    View,
    allocate,
    lowest_bits,
)
from philly_analysis.workload import AttemptSpec, Estimates, JobSpec, Machine, Stay

SAMPLES = 25
"""Simulations of a forecast (chosen: the 90 % interval leaves out two)."""
LATER = 200
"""Most later submissions of a simulation (chosen: hours of a busy queue)."""


class Runner(NamedTuple):
    """A running job with the place and the start of the present attempt."""

    spec: JobSpec
    stay: Stay


@dataclass(frozen=True, slots=True)
class Situation:
    """A pool of machines at a moment: running jobs, waiting jobs, and past submissions.

    Attributes
    ----------
    now_s
        The moment, in seconds after the workload's origin.
    running
        Running jobs.
    waiting
        Jobs in the queue, in order of submission, with the jobs to forecast.
    past
        Past jobs of the pool, by submission, from which later submissions are drawn: jobs with one
        run, and with run time estimates.
    """

    now_s: float
    machines: Sequence[Machine]
    policy: Policy
    quotas: Mapping[str, int]
    estimates: Estimates
    running: tuple[Runner, ...]
    waiting: tuple[JobSpec, ...]
    past: Sequence[JobSpec]
    run_times: RunTimes

    def waits(self, asked: Collection[str], seed: int, samples: int = SAMPLES) -> Floats:
        """Return simulated waits from now on (s) of jobs of the queue.

        A job that is alone in the queue and starts at once does so in every simulation.

        Parameters
        ----------
        asked
            Identifiers of waiting jobs. One simulation has the waits of all of them.

        Returns
        -------
        numpy.ndarray
            Shape (samples, asked); infinite where a job never starts.
        """
        rng = np.random.default_rng(seed)
        first = self._waits(asked, rng)
        if len(self.waiting) == 1 and not any(first):
            return np.zeros((samples, len(asked)))
        return np.array([first, *(self._waits(asked, rng) for _ in range(samples - 1))])

    def _waits(self, asked: Collection[str], rng: np.random.Generator) -> list[float]:
        """Simulate until the asked jobs start, and return the times from now to the starts (s).

        The clock is moved so that a drawn block of past submissions begins now.
        """
        now_s, later = self._later(rng)
        specs, stays, numbers = self._drawn(now_s - self.now_s, rng)
        waits = {numbers[job_id]: inf for job_id in asked}
        missing = set(waits)
        with suppress(SimulationError):  # a job never starts
            simulation = Simulation(
                [*specs, *later], self.machines, self.policy, quotas=self.quotas
            )
            view, begun = simulation.view, False
            while missing and simulation.advance():
                if view.now_s < now_s:
                    simulation.apply(_recorded(view, stays))
                    continue
                if not begun:  # the policy sees the queue for the first time
                    view.changed = [*view.queue]
                    view.freed, begun = set(range(len(self.machines))), True
                decision = simulation.policy.decide(view)
                simulation.apply(decision)
                started = {job.spec.job_id for job in decision if job.running} & missing
                waits |= dict.fromkeys(started, view.now_s - now_s)
                missing -= started
        return [*waits.values()]

    def _drawn(
        self, moved_s: float, rng: np.random.Generator
    ) -> tuple[list[JobSpec], dict[str, Stay], dict[str, str]]:
        """Return the jobs with drawn run times, and the stays of running jobs.

        The last value has the identifiers of the waiting jobs in the simulation.
        """
        specs, stays, numbers = [], {}, {}
        for number, runner in enumerate(self.running):
            start_s = runner.stay.start_s
            run_s = self.run_times.draw(runner.spec, self.now_s - start_s, rng)
            specs.append(_once(runner.spec, f"r{number:07}", start_s + moved_s, run_s))
            stays[specs[-1].job_id] = runner.stay
        for number, spec in enumerate(self.waiting):
            run_s = self.run_times.draw(spec, 0.0, rng)
            specs.append(_once(spec, f"w{number:07}", spec.submit_s + moved_s, run_s))
            numbers[spec.job_id] = specs[-1].job_id
        return (specs if self.estimates.exact else self.estimates.apply(specs, rng)), stays, numbers

    def _later(self, rng: np.random.Generator) -> tuple[float, Sequence[JobSpec]]:
        """Return the begin of a drawn block of past submissions, and the jobs of the block."""
        if not self.past:
            return self.now_s, ()
        first = int(rng.integers(len(self.past)))
        begin_s = self.past[first].submit_s
        block = self.past[first + 1 : first + LATER]
        return begin_s, [spec for spec in block if spec.submit_s > begin_s]


def _once(spec: JobSpec, job_id: str, submit_s: float, run_s: float) -> JobSpec:
    """Return a job with one run."""
    return replace(
        spec, job_id=job_id, submit_s=submit_s, eligible_s=None, attempts=(AttemptSpec(run_s),)
    )


def _recorded(view: View, stays: Mapping[str, Stay]) -> Decision:
    """Return the recorded allocations of the jobs that start now; waiting jobs keep waiting."""
    plan = view.plan()
    for job in view.changed:
        stay = stays.get(job.spec.job_id)
        if stay is not None and not job.running:
            plan.assign(
                job, _on_servers(plan.cluster, job, stay) or allocate(plan.cluster, job.request)
            )
    return plan.decision


def _on_servers(cluster: Cluster, job: Job, stay: Stay) -> Allocation | None:
    """Return free GPUs on the servers of a recorded stay; None where they are not free."""
    shares = []
    for machine_id, count, gpus in stay.shares:
        machine = cluster.index_of.get(machine_id)
        if machine is None:
            return None
        free, recorded = cluster.free_gpus[machine], sum(1 << gpu for gpu in gpus)
        mask = recorded if recorded and not recorded & ~free else lowest_bits(free, count)
        if free.bit_count() < count:
            return None
        shares.append((machine, mask))
    if not shares or job.spec.gpu_frac < 1:
        return None
    return Allocation(tuple(shares), stay.gpus, job.request.cpus, job.request.mem_gb)
