"""Fit the cluster's own scheduling: candidate policies, compared with the recorded waits."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl

from philly_analysis.distributions import Floats
from philly_analysis.experiments.advice.agreement import CONDITION, Agreement, agreement
from philly_analysis.experiments.advice.candidates import (
    CANDIDATES,
    Candidate,
    fitting,
)
from philly_analysis.experiments.advice.distances import (
    INTERVALS,
    Distance,
    Distances,
    distances_of,
    gpus_waited_for,
    near_ties,
)
from philly_analysis.experiments.advice.recorded import Recorded
from philly_analysis.experiments.advice.scenario import (
    HALVES,
    MOST_JOBS,
    Jobs,
    Scenario,
    jobs_in_period,
    of_jobs,
    replay_all,
)
from philly_analysis.trace import Trace
from philly_analysis.workload import JobSpec

_FLOOR_S = 60.0
"""Waits whose difference is not counted, if the log's start-up times are not longer."""
_FEWEST = 20
"""Fewest jobs for a comparison."""
_NAMED = 3
"""Near ties that are named in a sentence; the table has all."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The candidate nearest to the log, and whether the candidate is near enough to be replayed.

    Attributes
    ----------
    scenario
        The jobs and machines under the candidate's policy; of a large log the last jobs.
    distance
        Distance of the policy's waits from the recorded waits; the mean of both halves of the jobs.
    halves
        Agreement with the recorded waits in each half of the log; of a large log in each half of
        the last jobs.
    tried
        A row per candidate: policy, distances on the first and the second half, the mean distance
        with its parts, and whether the candidate is a near tie of the best.
    rivals
        Scenarios of the other near ties, by policy. With recorded quotas, only near ties that use
        quotas are included.
    compared, jobs
        Jobs on which policies were compared, and jobs with a known wait.
    queue
        Columns at_s, recorded and replayed: mean GPUs waited for in intervals of time.
    """

    name: str
    scenario: Scenario
    distance: Distance
    halves: tuple[Agreement, ...]
    tried: pd.DataFrame
    rivals: dict[str, Scenario]
    queue: pd.DataFrame
    replayed: pl.DataFrame
    compared: int = 0
    jobs: int = 0

    @property
    def near(self) -> bool:
        """Whether the replay is believed."""
        return all(half.holds for half in self.halves)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The conclusion with the policy, its near ties, both halves, and the condition."""
        if not self.near:
            conclusion = (
                "No policy reproduces the log's waits, so that advice on scheduling is withheld. "
                f"The nearest is {self.name}."
            )
        else:
            many = len(self.rivals) > _NAMED
            ties = f"{len(self.rivals)} others" if many else "; ".join(self.rivals)
            also = f" Within one standard error are also: {ties}." if ties else ""
            conclusion = f"The log's waits are reproduced by: {self.name}.{also}"
        halves = zip(("First", "Second"), self.halves, strict=True)
        part = (
            f"Policies were compared on {self.compared:,} of {self.jobs:,} jobs, a span of each "
            f"half of the log, and levers are priced on the last {MOST_JOBS:,}: all jobs would "
            "take too long."
        )
        return (
            conclusion,
            *([part] if self.compared < self.jobs else []),
            *(f"{half} half of the log: {half_agreement}." for half, half_agreement in halves),
            CONDITION,
        )

    @property
    def sentence(self) -> str:
        """All sentences as one text."""
        return " ".join(self.sentences)


def fit_baseline(
    recorded: Recorded,
    start_up_s: float | None,
    executor: Executor,
    candidates: Sequence[Candidate] = CANDIDATES,
    *,
    cache: Trace | None = None,
    part: str = "",
) -> Baseline | None:
    """Replay the jobs under each candidate, and choose the one nearest to the recorded waits.

    With recorded quotas, only near ties that use quotas are considered.

    Parameters
    ----------
    recorded
        Jobs, machines and recorded waits. A large log is compared on its spans.
    start_up_s
        Longest wait that counts as start-up; None: not known.
    cache
        Trace in whose cache outcomes are stored.
    part
        Name of the part of the log that the scenario has, for the cache; empty: the whole log.

    Returns
    -------
    Baseline or None
        None: too few jobs with a known wait.
    """
    scenario, jobs = recorded.scenario, _compared(recorded)
    if len(jobs) < HALVES * _FEWEST:
        return None
    candidates = fitting(
        candidates,
        limits=any(spec.time_limit_s for spec in jobs),
        quotas=bool(scenario.quotas),
        caps=bool(scenario.limits),
        vcs=len({spec.vc for spec in jobs}),
    )
    floor_s = max(_FLOOR_S, start_up_s or 0.0)

    def under(candidate: Candidate, now: Scenario) -> Scenario:
        return replace(now, policy=candidate.policy, estimates=candidate.estimates)

    scenarios = [under(candidate, scenario) for candidate in candidates]
    halves = recorded.halves
    spans = {
        f"{part}half {nth} of {whole.rules}": under(candidate, half)
        for candidate, whole in zip(candidates, scenarios, strict=True)
        for nth, half in enumerate(halves)
    }
    runs = replay_all(spans or {f"{part}{s.rules}": s for s in scenarios}, executor, cache)
    size = len(halves) or 1
    replays = [pl.concat(runs[at : at + size]) for at in range(0, len(runs), size)]
    recorded_s = np.array([recorded.waits_s[spec.job_id] for spec in jobs])
    waits = [of_jobs(replay, "first_wait_s", jobs) for replay in replays]

    distances = distances_of(jobs, recorded_s, waits, floor_s)
    ties = near_ties(distances.totals, distances.deleted)
    best, *rivals = [i for i in ties if recorded.quotas and candidates[i].policy.quotas] or ties
    chosen, last = scenarios[best], jobs
    replayed, last_waits = replays[best], waits[best]
    if halves:
        [replayed] = replay_all({f"{part}{chosen.rules}": chosen}, executor, cache)
        last = [spec for spec in jobs_in_period(chosen) if spec.job_id in recorded.waits_s]
        last_waits = of_jobs(replayed, "first_wait_s", last)
    of_last = np.array([recorded.waits_s[spec.job_id] for spec in last])
    return Baseline(
        name=candidates[best].name,
        scenario=chosen,
        distance=Distance(*np.mean(distances.by_half[best], axis=0).tolist()),
        halves=tuple(
            agreement(of_last[half], last_waits[half], floor_s)
            for half in np.array_split(np.arange(len(last)), HALVES)
        ),
        tried=_tried(candidates, distances, ties),
        rivals={candidates[place].name: scenarios[place] for place in rivals},
        queue=_queues(last, of_last - floor_s, last_waits - floor_s),
        replayed=replayed,
        compared=len(jobs),
        jobs=recorded.waits_known or len(jobs),
    )


def _tried(
    candidates: Sequence[Candidate], distances: Distances, ties: Sequence[int]
) -> pd.DataFrame:
    """Return a row per candidate with its distances, the nearest candidate first."""
    totals = distances.totals
    rows = [
        (c.name, *totals[i], totals[i].mean(), *np.mean(distances.by_half[i], axis=0), i in ties)
        for i, c in enumerate(candidates)
    ]
    columns = ["policy", "first_half", "second_half", "distance", *Distance._fields, "near_tie"]
    return pd.DataFrame(rows, columns=columns).sort_values("distance", ignore_index=True)


def _queues(jobs: Jobs, recorded_s: Floats, replayed_s: Floats) -> pd.DataFrame:
    """Return the mean GPUs waited for over time, by recorded and by replayed waits."""
    submit_s = np.array([spec.submit_s for spec in jobs])
    return pd.DataFrame(
        {
            "at_s": np.linspace(submit_s.min(), submit_s.max(), INTERVALS),
            "recorded": gpus_waited_for(jobs, np.maximum(recorded_s, 0)),
            "replayed": gpus_waited_for(jobs, np.maximum(replayed_s, 0)),
        }
    )


def _compared(recorded: Recorded) -> list[JobSpec]:
    """Return the jobs to compare: those with a known wait, as many in each span of a large log."""
    spans = [
        [spec for spec in jobs_in_period(part) if spec.job_id in recorded.waits_s]
        for part in recorded.halves or (recorded.scenario,)
    ]
    fewest = min(map(len, spans))
    return [spec for span in spans for spec in span[len(span) - fewest :]]
