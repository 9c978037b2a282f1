"""Fit the policy that reproduces a log's waits, and read the queue at moments to simulate from."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from philly_analysis.analyses.shared.completeness import missing_jobs
from philly_analysis.distributions import Floats
from philly_analysis.errors import SimulationError
from philly_analysis.experiments import Scenario, believed_scenario
from philly_analysis.forecasts.queue import Queue
from philly_analysis.forecasts.replay import Runner, Situation
from philly_analysis.forecasts.run_times import RunTimes
from philly_analysis.parallel import InlineExecutor
from philly_analysis.simulator import divide_quotas
from philly_analysis.trace import Trace
from philly_analysis.workload import AttemptSpec, JobSpec, Workload, even_parts


class _Stays(NamedTuple):
    """Attempts of a pool's jobs, with their recorded times."""

    runners: Sequence[Runner]
    started_s: Floats
    ended_s: Floats

    @classmethod
    def of(cls, specs: Sequence[JobSpec]) -> "_Stays":
        runners = [Runner(s, run.stay) for s in specs for run in s.attempts if run.stay]
        times = np.array([(r.stay.start_s, r.stay.end_s) for r in runners]).reshape(-1, 2)
        return cls(runners, times[:, 0], times[:, 1])

    def at(self, now_s: float) -> tuple[Runner, ...]:
        """Return the jobs that run at a moment."""
        running = np.flatnonzero((self.started_s < now_s) & (self.ended_s >= now_s))
        return tuple(self.runners[i] for i in running[np.argsort(self.started_s[running])])


@dataclass(frozen=True, slots=True)
class Believed:
    """The policy that reproduces the waits, and where and when each attempt ran.

    Attributes
    ----------
    name
        Name of the policy.
    scenario
        Jobs and machines under the policy.
    origin_s
        Begin of the workload's clock, in seconds since 1970.
    """

    name: str
    scenario: Scenario
    origin_s: float
    stays: Sequence[_Stays]
    pool_of_job: Mapping[str, int]
    pool_of_vc: Mapping[str, int]

    @classmethod
    def fit(cls, trace: Trace, until_s: float) -> "Believed | str":
        """Fit the policy to the jobs submitted before a moment (s since 1970).

        A string is a clause on why the queue cannot be simulated.
        """
        if reason := missing_jobs(trace):
            return reason
        workload = Workload.from_trace(trace)
        origin_at = workload.origin_at
        if origin_at is None:
            return "no job has a known run time"
        if not workload.servers():
            return "the log does not record the servers"
        origin_s = pd.Timestamp(origin_at).timestamp()
        try:
            fitted = believed_scenario(trace, InlineExecutor(), until_s - origin_s)
        except SimulationError:
            return "no server can run the jobs"
        if fitted is None:
            return "no policy reproduces the waits of the first three fifths of the log"
        name, scenario = fitted
        pool_of_job: dict[str, int] = {}
        by_vc = defaultdict[str, Counter[int]](Counter)
        for i, pool in enumerate(scenario.pools):
            for spec in pool.jobs:
                pool_of_job[spec.job_id] = i
                by_vc[spec.vc][i] += 1
        stayed: list[list[JobSpec]] = [[] for _ in scenario.pools]
        for spec in workload.specs(stays=True):
            if (place := pool_of_job.get(spec.job_id)) is not None:
                stayed[place].append(spec)
        return cls(
            name,
            scenario,
            origin_s,
            [_Stays.of(specs) for specs in stayed],
            pool_of_job,
            {vc: counts.most_common(1)[0][0] for vc, counts in by_vc.items()},
        )

    def pool(self, job_id: str, vc: str) -> int:
        """Return the index of the pool of a job: its own, or the pool of most jobs of its VC."""
        sizes = [len(pool.jobs) for pool in self.scenario.pools]
        largest = int(np.argmax(sizes))
        return self.pool_of_job.get(job_id, self.pool_of_vc.get(vc, largest))


@dataclass(frozen=True, slots=True)
class Replays:
    """The queue at moments after a part of the log, with the run times known until then.

    Attributes
    ----------
    believed
        The policy and the recorded places.
    queue
        History of the queue.
    run_times, past
        Run times and submissions of jobs that had ended, by pool.
    """

    believed: Believed
    queue: Queue
    run_times: Sequence[RunTimes]
    past: Sequence[Sequence[JobSpec]]

    @classmethod
    def after(cls, believed: Believed, queue: Queue, until_s: float) -> "Replays":
        """Collect what is known at a moment: run times, and past submissions."""
        over = set(queue.jobs["job_id"][queue.jobs["ended_s"].to_numpy(float) < until_s])
        ended = [[s for s in pool.jobs if s.job_id in over] for pool in believed.scenario.pools]
        past = [[replace(s, attempts=(AttemptSpec(s.run_s),)) for s in specs] for specs in ended]
        estimates, rng = believed.scenario.estimates, np.random.default_rng(0)
        if not estimates.exact:
            past = [estimates.apply(specs, rng) for specs in past]
        return cls(believed, queue, [RunTimes.of(specs) for specs in ended], past)

    def waits(
        self, asked: Sequence[Mapping[Hashable, Any]], ahead: int, at_s: float
    ) -> list[Floats | None]:
        """Return simulated times from a moment to the starts of jobs in one queue.

        None: the job never starts in a simulation.

        Parameters
        ----------
        asked
            Requests and names of the jobs, and entered_s. Jobs that do not wait in the queue join
            the queue's end.
        ahead
            Number of the queue's jobs that had entered by the moment.
        at_s
            The moment, in seconds since 1970.
        """
        believed, by_pool = self.believed, defaultdict[int, list[JobSpec]](list)
        specs = [self._spec(row) for row in asked]
        waiting = self._waiting(at_s, ahead)
        names = {spec.job_id for spec in waiting}
        for spec in [*waiting, *(spec for spec in specs if spec.job_id not in names)]:
            place = believed.pool(spec.job_id, spec.vc)
            if spec.gpus <= believed.scenario.pools[place].gpus:
                by_pool[place].append(spec)
        wanted = {spec.job_id for spec in specs}
        waits: dict[str, Floats] = {}
        for place, queue in by_pool.items():
            of_pool = [spec.job_id for spec in queue if spec.job_id in wanted]
            if of_pool:
                simulated = self._situation(place, at_s, queue).waits(of_pool, seed=ahead)
                waits |= dict(zip(of_pool, simulated.T, strict=True))
        started = {name: seconds for name, seconds in waits.items() if np.isfinite(seconds).all()}
        return [started.get(spec.job_id) for spec in specs]

    def _situation(self, place: int, at_s: float, queue: Sequence[JobSpec]) -> Situation:
        """Return a pool at a moment, with the jobs in the queue."""
        believed = self.believed
        scenario, now_s = believed.scenario, at_s - believed.origin_s
        return Situation(
            now_s=now_s,
            machines=scenario.pools[place].machines,
            policy=scenario.policy.within(scenario.limits),
            quotas=divide_quotas(scenario.quotas, scenario.pools)[place],
            estimates=scenario.estimates,
            running=believed.stays[place].at(now_s),
            waiting=tuple(queue),
            past=self.past[place],
            run_times=self.run_times[place],
        )

    def _waiting(self, at_s: float, ahead: int) -> list[JobSpec]:
        """Return the jobs that wait at a moment, in the order of the queue."""
        jobs = self.queue.jobs[:ahead]
        return [self._spec(row) for row in jobs[jobs["left_s"] >= at_s].to_dict("records")]

    def _spec(self, row: Mapping[Hashable, Any]) -> JobSpec:
        """Return the job of a row of the queue, without a run."""
        gpus = max(1, round(float(row["gpus"])))
        servers = None if pd.isna(row["servers"]) else int(row["servers"])
        return JobSpec(
            job_id=_text(row, "job_id"),
            vc=_text(row, "vc"),
            user=_text(row, "user"),
            gpus=gpus,
            submit_s=float(row["entered_s"]) - self.believed.origin_s,
            attempts=(AttemptSpec(0.0),),
            cpus=_number(row, "cpus"),
            mem_gb=_number(row, "mem_gb"),
            time_limit_s=_number(row, "time_limit_s"),
            gpu_frac=min(1.0, float(row["gpus"])),
            gpus_by_server=even_parts(gpus, servers),
            account=_text(row, "account"),
            qos=_text(row, "qos"),
        )


def _text(row: Mapping[Hashable, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _number(row: Mapping[Hashable, Any], name: str) -> float | None:
    return None if pd.isna(row[name]) else float(row[name])
