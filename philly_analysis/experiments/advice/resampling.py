"""Draw other months of a log by a block bootstrap of its days."""

from dataclasses import replace

import numpy as np

from philly_analysis.experiments.advice.gains import MONTH_D
from philly_analysis.experiments.advice.scenario import LogFacts, Scenario, period_of
from philly_analysis.workload import JobSpec

_DAY_S = 86_400.0


def drawn_month(scenario: Scenario, log_facts: LogFacts, seed: int) -> tuple[Scenario, LogFacts]:
    """Return a month whose days are drawn from the log's days, with replacement.

    Jobs of a day stay together, at their times of day; each copy has its own identifier
    (Künsch, Annals of Statistics 17, 1989). The month is as long as the log, at most 30 days.
    """
    begin_s, end_s = period_of(scenario.jobs)
    days = max(int((end_s - begin_s) // _DAY_S), 1)
    rng = np.random.default_rng([seed, *b"months"])
    drawn = rng.integers(days, size=min(days, int(MONTH_D)))
    log_id: dict[str, str] = {}

    def copies(jobs: tuple[JobSpec, ...]) -> tuple[JobSpec, ...]:
        of_day: dict[int, list[JobSpec]] = {}
        for spec in jobs:
            if spec.job_id in scenario.carried:
                continue
            of_day.setdefault(int((spec.submit_s - begin_s) // _DAY_S), []).append(spec)
        made = []
        for day, source in enumerate(drawn.tolist()):
            for spec in of_day.get(source, ()):
                name = f"{spec.job_id} on day {day}"
                at_s = spec.submit_s + (day - source) * _DAY_S
                made.append(replace(spec, job_id=name, submit_s=at_s))
                log_id[name] = spec.job_id
        return tuple(made)

    pools = tuple(replace(pool, jobs=copies(pool.jobs)) for pool in scenario.pools)
    month = replace(scenario, pools=tuple(pool for pool in pools if pool.jobs), carried=frozenset())
    return month, replace(
        log_facts,
        idle={name: log_facts.idle[job] for name, job in log_id.items() if job in log_facts.idle},
        spread=frozenset(name for name, job in log_id.items() if job in log_facts.spread),
        broken={
            name: log_facts.broken[job] for name, job in log_id.items() if job in log_facts.broken
        },
    )
