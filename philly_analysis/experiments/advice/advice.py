"""Advise a cluster: fit its scheduling, apply each lever, and order the levers by their gain."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import pandas as pd

from philly_analysis.analyses.shared import completeness
from philly_analysis.errors import InputError
from philly_analysis.experiments.advice.baseline import Baseline, fit_baseline
from philly_analysis.experiments.advice.gains import MONTH_D
from philly_analysis.experiments.advice.judging import LEAST_S
from philly_analysis.experiments.advice.levers import (
    LEVERS,
    Assumptions,
)
from philly_analysis.experiments.advice.pricing import Priced, Pricing
from philly_analysis.experiments.advice.recorded import Recorded, recorded_scenario
from philly_analysis.experiments.advice.scenario import (
    MOST_JOBS,
    LogFacts,
    Scenario,
    period_of,
)
from philly_analysis.experiments.advice.waiting import binding, binding_names, dominating, waiting
from philly_analysis.results import FEWEST_PAIRS, duration
from philly_analysis.trace import Trace

_SHORTEST_S = 86_400.0
"""Shortest time between submissions that gains are extrapolated from."""
_FITTED = 10_000
"""Most jobs by which a policy is fitted for forecasts, the latest (chosen: a minute)."""


def disputed_levers(
    baseline: Baseline, log_facts: LogFacts, assumed: Assumptions
) -> dict[str, str]:
    """Return the scheduling levers that a near tie lacks, with the name of the near tie."""
    return {
        lever.name: rival
        for rival, scenario in baseline.rivals.items()
        for lever in LEVERS
        if lever.scheduling and lever.apply(scenario, log_facts, assumed) is None
    }


@dataclass(frozen=True, slots=True)
class Advice:
    """What a cluster could change, best first.

    Attributes
    ----------
    baseline
        The cluster's scheduling as fitted; None: too few jobs with known waits.
    scenario
        The jobs and machines as they are.
    gpu_h, wait_h
        GPU hours that jobs run, and hours that they wait, a month.
    levers
        Every lever that applies, in order.
    best
        The recommended levers, with intervals over drawn months if waits are replayed. No objection
        holds against them.
    disputed
        Levers that a near tie of the baseline's policy lacks, with the name of that policy.
    objections
        Why a lever gets no card, by name.
    failed
        Why a lever could not be priced, by title.
    combined
        The best two and three together.
    moved
        Recommended levers under other assumptions.
    withheld
        Why scheduling levers are withheld; empty: they are not.
    worst_servers
        Servers with significantly many failures.
    limits
        Limits that keep jobs waiting: see :func:`binding`.
    value
        Measure of gains: a key of :data:`VALUES`.
    """

    baseline: Baseline | None
    scenario: Scenario
    gpu_h: float
    wait_h: float | None
    levers: Sequence[Priced]
    best: Sequence[Priced]
    disputed: Mapping[str, str]
    objections: Mapping[str, str]
    failed: Mapping[str, str]
    combined: Sequence[Priced]
    moved: Sequence[Priced]
    withheld: str
    worst_servers: Sequence[str] = ()
    limits: pd.DataFrame = field(default_factory=pd.DataFrame)
    value: str = "total"

    @property
    def mean_wait_s(self) -> float | None:
        """Mean wait (s) of a job in the replay; None: not replayed."""
        gains = [lever.gain for lever in self.levers if not lever.gain.by_gang.empty]
        return gains[0].mean_wait_s("before") if gains else None

    @property
    def nobody_waits(self) -> bool:
        """Whether no lever can save two minutes a job."""
        return self.mean_wait_s is not None and self.mean_wait_s < LEAST_S


def advise(trace: Trace, executor: Executor, assumed: Assumptions, months: int) -> Advice:
    """Price every lever on a trace's jobs.

    Parameters
    ----------
    months
        Months that are drawn for the intervals of the recommended levers; 0: blocks of the log give
        the intervals, although waits may be correlated for longer than a block.
    executor
        Executor of the replays; results are equal on any executor.

    Raises
    ------
    InputError
        The trace has no machines with GPUs, or no jobs that the machines can run, or all jobs were
        submitted within a day; or `months` is negative, or one or two.
    """
    if months < 0 or 0 < months < FEWEST_PAIRS:
        raise InputError(f"months is {months}; give 0, or {FEWEST_PAIRS} or more for intervals.")
    recorded = recorded_scenario(trace, MOST_JOBS)
    period_d = _days_of(recorded)
    baseline = fit_baseline(recorded, _start_up_s(trace), executor, cache=trace)
    causes, method = waiting(trace, period_d)
    bound = binding(trace, causes)
    scenario = recorded.scenario
    log_facts = replace(recorded.log_facts, binding=binding_names(scenario.limits, bound))
    withheld = _why_withheld(trace, baseline, dominating(causes, method))
    replayed = baseline.replayed if baseline is not None and not withheld else None
    disputed: dict[str, str] = {}
    if baseline is not None and replayed is not None:
        scenario = baseline.scenario
        disputed = disputed_levers(baseline, log_facts, assumed)
    pricing = Pricing(scenario, log_facts, assumed, replayed, executor, trace)
    priced = pricing.levers(LEVERS)
    objections = {lever.name: pricing.objection(lever) for lever in priced}
    disputes = {
        name: f"the log also fits {rival}, which does not have this lever"
        for name, rival in disputed.items()
    }
    best, refused = pricing.with_cards([p for p in priced if p.name not in disputes], months)
    objections |= {lever.name: pricing.objection(lever) for lever in (*best, *refused)} | disputes
    over_months = {lever.name: lever for lever in (*best, *refused)}
    begin_s, end_s = period_of(scenario.jobs)
    month = MONTH_D * 86_400 / (end_s - begin_s)
    return Advice(
        baseline=baseline,
        scenario=scenario,
        gpu_h=pricing.ran_h,
        wait_h=None if replayed is None else float(replayed["wait_s"].sum()) / 3600 * month,
        levers=[over_months.get(lever.name, lever) for lever in priced],
        best=best,
        disputed=disputed,
        objections=objections,
        failed=pricing.failed,
        combined=pricing.together(best),
        moved=pricing.moved(best),
        withheld=withheld,
        worst_servers=log_facts.worst_servers,
        limits=bound,
        value=assumed.value,
    )


def believed_scenario(
    trace: Trace, executor: Executor, until_s: float
) -> tuple[str, Scenario] | None:
    """Return the policy that reproduces the waits of the jobs before a moment.

    Parameters
    ----------
    until_s
        Moment in seconds after the workload's origin. Later jobs do not count.

    Returns
    -------
    tuple or None
        The policy's name, and all jobs and machines under the policy. None: the trace lacks jobs,
        machines or known waits, or no policy reproduces the waits.
    """
    if completeness.missing_jobs(trace):
        return None
    recorded = recorded_scenario(trace)
    scenario = recorded.scenario
    before = scenario.only({spec.job_id for spec in scenario.jobs if spec.submit_s < until_s})
    if not before.pools:
        return None
    baseline = fit_baseline(
        recorded._replace(scenario=before.latest(_FITTED)),
        _start_up_s(trace),
        executor,
        cache=trace,
        part=f"until {until_s:.0f}: ",
    )
    if baseline is None or not baseline.near:
        return None
    fitted = baseline.scenario
    return baseline.name, replace(scenario, policy=fitted.policy, estimates=fitted.estimates)


def _days_of(recorded: Recorded) -> float:
    """Return the days between the first and the last submission.

    Raises
    ------
    InputError
        There are no machines with GPUs, or no jobs for them, or the days are fewer than one.
    """
    if not recorded.scenario.pools:
        raise InputError(
            "The trace has no jobs with known run times on known machines, so that there is "
            "nothing to advise on. Ingest a log with its machines."
        )
    if recorded.period_s < _SHORTEST_S:
        raise InputError(
            f"The jobs were submitted within {duration(recorded.period_s)}. Gains a month need a "
            "log of at least a day."
        )
    return recorded.period_s / _SHORTEST_S


def _start_up_s(trace: Trace) -> float | None:
    """Return the longest wait that counts as start-up; None: not known."""
    if not trace.has("start_up_limits"):
        return None
    [(longest_s,)] = trace.sql("select max(longest_s) from start_up_limits").fetchall()
    return None if longest_s is None else float(longest_s)


def _why_withheld(trace: Trace, baseline: Baseline | None, dominating_cause: str) -> str:
    """Return why advice on scheduling is withheld, as sentences; empty with advice."""
    if reason := completeness.missing_jobs(trace):
        return f"Advice on scheduling is withheld: {reason}."
    if baseline is None:
        return "Advice on scheduling is withheld: too few jobs have a known wait."
    return "" if baseline.near else f"{baseline.sentence} {dominating_cause}".rstrip()
