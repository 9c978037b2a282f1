"""Why the attempts of a workload failed, where its trace has what they printed."""

from collections.abc import Iterable
from dataclasses import replace

from philly_analysis.trace import Trace
from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.workload import Workload


def with_failures(workload: Workload, specs: Iterable[JobSpec]) -> list[JobSpec]:
    """Return jobs whose attempts say why they failed, as far as the trace does.

    Parameters
    ----------
    workload
        Where they come from; without a trace behind it, nothing is known of them.
    """
    specs = list(specs)
    if workload.trace is None:
        return specs
    with Trace(workload.trace) as trace:
        if not trace.has("failures"):
            return specs
        rows = trace.sql(
            "select job_id, list(reason order by attempt) from workload_attempts "
            "left join failures using (job_id, attempt) group by job_id"
        ).fetchall()
    reasons: dict[str, list[str | None]] = dict(rows)
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
