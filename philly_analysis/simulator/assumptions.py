"""Report which inputs of a what-if were recorded, and which assumed or drawn."""

from collections import Counter
from collections.abc import Sequence

from philly_analysis.results import count, number
from philly_analysis.simulator.cluster.gpu_sharing import as_allocated
from philly_analysis.simulator.engine.pools import Pool
from philly_analysis.workload import JobSpec


def fraction_notes(pools: Sequence[Pool], *, fractional: bool) -> tuple[str, ...]:
    """Return sentences on what jobs that request a fraction of a GPU get: it, slices, or all.

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
            known = sum(getattr(spec, field) is not None for spec in recorded)
            notes.append(
                f"{label}: as recorded for {known:,} of {len(recorded):,} jobs, drawn for "
                f"{drawn:,}."
            )
    return tuple(notes)
