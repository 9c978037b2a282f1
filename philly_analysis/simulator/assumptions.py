"""Report which inputs of a what-if were recorded, and which assumed or drawn."""

from collections import Counter
from collections.abc import Sequence

from philly_analysis.results import count, number
from philly_analysis.simulator.cluster.gpu_sharing import as_allocated
from philly_analysis.simulator.engine.pools import Pool
from philly_analysis.simulator.policies import Policy
from philly_analysis.workload import JobSpec, Workload


def fraction_notes(pools: Sequence[Pool], *, fractional: bool) -> tuple[str, ...]:
    """Return sentences on jobs that request a fraction of a GPU: they get it, slices, or all.

    Parameters
    ----------
    fractional
        Whether the policy allocates fractions of GPUs.
    """
    jobs: Counter[str] = Counter()
    more_h = {"exact": 0.0, "slices": 0.0, "whole": 0.0}
    for pool in pools:
        slices = pool.machines[0].slices
        for spec in (spec for spec in pool.jobs if spec.gpu_frac < 1):
            gets = "exact" if slices is None else "slices"
            if not fractional or spec.gpus > 1:
                gets = "whole"
            jobs[gets] += 1
            allocated = as_allocated(spec, slices if fractional else 1)
            more_h[gets] += (allocated.gpu_s - spec.gpu_s) / 3600
    texts = {
        "exact": "a GPU get no more of it.",
        "slices": "a GPU get the slices of the smallest instance that is large enough: "
        f"{number(more_h['slices'])} GPU hours more than requested.",
        "whole": f"GPUs get whole GPUs: {number(more_h['whole'])} GPU hours more than requested.",
    }
    return tuple(
        f"{count(jobs[gets], 'job')} that request a fraction of {text}"
        for gets, text in texts.items()
        if jobs[gets]
    )


def constraint_notes(
    workload: Workload, specs: Sequence[JobSpec], policy: Policy
) -> tuple[str, ...]:
    """Return sentences on the obeyed and the unknown constraints of jobs.

    Parameters
    ----------
    specs
        The jobs of the workload.
    policy
        The simulated policy.
    """
    held = sum(s.eligible_s is not None and s.eligible_s > s.submit_s for s in specs)
    placed = [spec for spec in specs if spec.gpus_by_server]
    requests = {
        "number of servers": len(placed),
        "CPUs per server": sum(spec.cpus is not None for spec in placed),
        "memory per server": sum(spec.mem_gb is not None for spec in placed),
        **{
            label: int(workload.frames["jobs"][column].is_not_null().sum())
            for column, label in _BY_POOL.items()
        },
    }
    obeyed = [f"{label} ({count(jobs, 'job')})" for label, jobs in requests.items() if jobs]
    unknown = [label for label, jobs in requests.items() if not jobs]
    notes = [f"Constraints obeyed: {', '.join(obeyed)}."] if obeyed else []
    return (
        *notes,
        f"Constraints not in the log: {', '.join((*unknown, *_NEVER_RECORDED))}. Jobs without a "
        "number of servers may run on any.",
        *([_HELD.format(count(held, "job"), policy.name)] if held and not policy.holds else []),
    )


_HELD = (
    "{} became eligible after the submission, because of a begin time, a dependency or a hold. The "
    "policy {} does not obey eligible times: the jobs may start at once."
)

_BY_POOL = {"cluster": "cluster", "pool": "pool of machines", "gpu_model": "GPU model"}
"""Columns of jobs that decide the pool of machines."""

_NEVER_RECORDED = ("exclusive use of servers", "features of servers", "licences")
"""Constraints for which no table has a column."""

_LABELS = {
    "job_type": "Model",
    "cpus": "CPUs",
    "mem_gb": "Host memory",
    "util_frac": "GPU utilisation",
    "gpu_mem_frac": "GPU memory",
}


def drawn_notes(recorded: Sequence[JobSpec], completed: Sequence[JobSpec]) -> tuple[str, ...]:
    """Return, for each drawn field of jobs, a sentence on how many are recorded and drawn.

    Parameters
    ----------
    recorded, completed
        The same jobs, before and after unknown fields were drawn.
    """
    notes = []
    for field, label in _LABELS.items():
        drawn = sum(
            getattr(before, field) is None and getattr(after, field) is not None
            for before, after in zip(recorded, completed, strict=True)
        )
        if drawn:
            recorded_jobs = sum(getattr(spec, field) is not None for spec in recorded)
            notes.append(
                f"{label}: as recorded for {recorded_jobs:,} of {len(recorded):,} jobs, drawn for "
                f"{drawn:,}."
            )
    return tuple(notes)
