"""Add recorded failure reasons and GPU use to the jobs of a workload."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from philly_analysis.trace import Trace
from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.workload import CHOSEN_JOBS, Workload


def with_failure_reasons(workload: Workload, specs: Iterable[JobSpec]) -> list[JobSpec]:
    """Return jobs whose attempts have the failure reasons of the workload's trace, if it has any.

    A workload without a trace has none.
    """
    specs = list(specs)
    if workload.trace is None:
        return specs
    with Trace(workload.trace) as trace:
        if not trace.has("failures"):
            return specs
        reasons: dict[str, list[str | None]] = _by_job(
            trace,
            "select job_id, list(reason order by attempt) from workload_attempts "
            f"left join failures using (job_id, attempt) where {CHOSEN_JOBS} group by job_id",
            specs,
        )
    return [
        replace(
            spec,
            attempts=tuple(
                replace(attempt, failure=failure)
                for attempt, failure in zip(spec.attempts, reasons[spec.job_id], strict=True)
            ),
        )
        for spec in specs
    ]


def with_gpu_use(workload: Workload, specs: Iterable[JobSpec]) -> list[JobSpec]:
    """Return jobs with their mean GPU utilisation and memory, from samples, else from summaries.

    A workload without a trace has neither.
    """
    specs = list(specs)
    if workload.trace is None:
        return specs
    with Trace(workload.trace) as trace:
        reported_util = _use(trace, "job_use_by_summary", "util_frac", specs)
        util = reported_util | _use(trace, "job_use", "util_frac", specs)
        mem = _use(trace, "job_use_by_summary", "gpu_mem_frac", specs)
    return [replace(s, util_frac=util.get(s.job_id), gpu_mem_frac=mem.get(s.job_id)) for s in specs]


def _use(trace: Trace, relation: str, column: str, specs: Sequence[JobSpec]) -> dict[str, Any]:
    """Return a column of a relation by job; empty if the trace lacks the relation's tables."""
    if not trace.has(relation):
        return {}
    return _by_job(trace, f"select job_id, {column} from {relation} where {CHOSEN_JOBS}", specs)


def _by_job(trace: Trace, sql: str, specs: Sequence[JobSpec]) -> dict[str, Any]:
    """Return the second column of a query by the first; the query selects by ``$names``."""
    return dict(trace.sql(sql, names=[spec.job_id for spec in specs]).fetchall())
