"""Divide a large log into spans to replay, each with the jobs that ran or waited as it began."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np
import polars as pl

from philly_analysis.experiments.advice.scenario import HALVES, period_between
from philly_analysis.workload import JobSpec, runs_of

_EARLIER_S = 1.0
"""Seconds before a span at which its queue is submitted; twice as many for the running jobs."""
_STEP_S = 1e-6
"""Seconds between submissions that keep an order."""


class Span(NamedTuple):
    """A part of a log, in the order of submission.

    Attributes
    ----------
    jobs
        Jobs that are submitted in the span.
    earlier
        Jobs that were submitted before, and ended after the span began.
    """

    jobs: tuple[str, ...]
    earlier: tuple[str, ...]


class Spans(NamedTuple):
    """The spans of a large log that are replayed.

    Attributes
    ----------
    halves
        The middle of each half of the log's period: policies are compared on it.
    last
        The last jobs: levers are priced on them.
    waits_known
        Number of jobs of the period with a known wait.
    """

    halves: tuple[Span, ...]
    last: Span
    waits_known: int

    @property
    def jobs(self) -> frozenset[str]:
        """All jobs of the spans."""
        every = (*self.halves, self.last)
        return frozenset(name for span in every for names in span for name in names)


def spans_of(jobs: pl.DataFrame, most: int) -> Spans:
    """Return the spans of a large log.

    Parameters
    ----------
    jobs
        A row per job, by submission: job_id, submit_s, wait_s (null: not known), and end_s (null:
        not known, or still running).
    most
        Number of jobs in the halves together, and of last jobs.
    """
    begin_s, _ = period_between(jobs["submit_s"].to_numpy())
    first = int((jobs["submit_s"] < begin_s).sum())
    size = most // HALVES
    halves = (
        half[0] + (len(half) - size) // 2
        for half in np.array_split(np.arange(first, jobs.height), HALVES)
    )
    in_period = jobs.slice(first)
    return Spans(
        tuple(_span(jobs, int(begin), size) for begin in halves),
        _span(jobs, jobs.height - most, most),
        in_period.filter(pl.col("wait_s") >= 0).height,
    )


def _span(jobs: pl.DataFrame, begin: int, size: int) -> Span:
    """Return the span of so many jobs from a row on."""
    begin_s = jobs["submit_s"][begin]
    earlier = jobs.slice(0, begin).filter(pl.col("end_s").fill_null(inf) > begin_s)
    return Span(*(tuple(rows["job_id"].to_list()) for rows in (jobs.slice(begin, size), earlier)))


def earlier_jobs(
    specs: Iterable[JobSpec], starts_s: Mapping[str, Sequence[float | None]], begin_s: float
) -> list[JobSpec]:
    """Return the rest of the jobs that ran or waited as a span began, with names of their own.

    Jobs that ran are submitted just before the span and need the rest of their run time. Jobs that
    waited are submitted after them, in their order. So a replay of the span begins with the
    recorded queue, and the running jobs end as recorded if each is placed at once.

    Parameters
    ----------
    starts_s
        Start of each attempt of a job; None: not known.
    begin_s
        Begin of the span.
    """
    running, waiting = list[JobSpec](), list[JobSpec]()
    for spec in specs:
        ran_s = [
            0.0 if start_s is None else max(begin_s - start_s, 0.0)
            for start_s in starts_s[spec.job_id]
        ]
        attempts = zip(spec.attempts, ran_s, strict=True)
        rests = [(replace(a, run_s=a.run_s - s), s) for a, s in attempts if a.run_s > s]
        if not rests:
            continue
        (first, elapsed_s), *others = rests
        limit_s = spec.time_limit_s and max(spec.time_limit_s - elapsed_s, first.run_s)
        if elapsed_s > 0:  # submitted before the span, and ends as recorded
            first = replace(first, run_s=first.run_s + 2 * _EARLIER_S)
        remainder = replace(
            spec,
            job_id=f"{spec.job_id} earlier",
            attempts=(first, *(attempt for attempt, _ in others)),
            time_limit_s=limit_s,
            eligible_s=spec.eligible_s if (spec.eligible_s or 0.0) > begin_s else None,
        )
        (running if elapsed_s > 0 else waiting).append(
            replace(remainder, attempts=runs_of(remainder))
        )
    running.sort(key=lambda spec: -spec.gpus)  # the largest are placed first, so that all fit
    waiting.sort(key=lambda spec: (spec.submit_s, spec.job_id))
    return [
        replace(spec, submit_s=begin_s - before_s + nth * _STEP_S)
        for rests, before_s in ((running, 2 * _EARLIER_S), (waiting, _EARLIER_S))
        for nth, spec in enumerate(rests)
    ]
