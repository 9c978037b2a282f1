"""Findings: one module per question, with its SQL, its figure and an `Analysis` object.

Modules that several findings share are in :mod:`philly_analysis.analyses.shared`.
"""

from philly_analysis.analyses import (
    arrivals,
    cause_accuracy,
    clock_offset,
    concentration,
    delay_causes,
    failure_costs,
    failure_reasons,
    failure_repetition,
    failure_statuses,
    gang_failures,
    gpu_util,
    gpu_util_by_servers,
    gpu_util_dedicated,
    gpu_util_summaries,
    gpus_in_use,
    host_clock_offset,
    host_util,
    how_used,
    job_status,
    locality_effect,
    locality_relaxation,
    node_failures,
    notebook_definitions,
    occupancy,
    out_of_order,
    overview,
    queueing_delay,
    queueing_delay_by_group,
    reliability,
    retries,
    run_policy,
    run_time,
    run_time_by_group,
    stated_causes,
    time_asked,
    time_to_failure,
    usage,
    wait_states,
    waits_by_day,
    why_failures,
    why_waits,
    wide_gangs,
    workload_account,
    worst_offenders,
)
from philly_analysis.trace import Analysis

FRONT = "In short"
"""Title of the first chapter."""

CHAPTERS: dict[str, tuple[Analysis, ...]] = {
    FRONT: (
        why_waits.ANALYSIS,
        how_used.ANALYSIS,
        why_failures.ANALYSIS,
        worst_offenders.ANALYSIS,
    ),
    "The trace": (
        overview.ANALYSIS,
        workload_account.ANALYSIS,
        gpus_in_use.ANALYSIS,
        clock_offset.ANALYSIS,
        host_clock_offset.ANALYSIS,
    ),
    "Workload": (
        run_time.ANALYSIS,
        run_time_by_group.ANALYSIS,
        job_status.ANALYSIS,
        retries.ANALYSIS,
        arrivals.ANALYSIS,
        concentration.ANALYSIS,
    ),
    "Queueing": (
        queueing_delay.ANALYSIS,
        delay_causes.ANALYSIS,
        cause_accuracy.ANALYSIS,
        stated_causes.ANALYSIS,
        out_of_order.ANALYSIS,
        queueing_delay_by_group.ANALYSIS,
        waits_by_day.ANALYSIS,
    ),
    "Locality and utilisation": (
        locality_relaxation.ANALYSIS,
        occupancy.ANALYSIS,
        gpu_util.ANALYSIS,
        gpu_util_by_servers.ANALYSIS,
        locality_effect.ANALYSIS,
        gpu_util_dedicated.ANALYSIS,
        gpu_util_summaries.ANALYSIS,
        host_util.ANALYSIS,
    ),
    "Failures": (
        failure_reasons.ANALYSIS,
        failure_repetition.ANALYSIS,
        time_to_failure.ANALYSIS,
        failure_costs.ANALYSIS,
        failure_statuses.ANALYSIS,
        reliability.ANALYSIS,
    ),
    "Operation": (
        usage.ANALYSIS,
        wait_states.ANALYSIS,
        time_asked.ANALYSIS,
        wide_gangs.ANALYSIS,
        node_failures.ANALYSIS,
        gang_failures.ANALYSIS,
    ),
    "Definitions": (
        run_policy.ANALYSIS,
        notebook_definitions.ANALYSIS,
    ),
}
"""Findings by chapter, in the order of the page."""
