"""Report which inputs of a what-if were recorded, and which assumed or drawn."""

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
    exact = sliced = whole = 0
    sliced_h = whole_h = 0.0
    for pool in pools:
        slices = pool.machines[0].slices
        for spec in (spec for spec in pool.jobs if spec.gpu_frac < 1):
            allocated = as_allocated(spec, slices if fractional else 1)
            more_h = (allocated.gpu_s - spec.gpu_s) / 3600
            if not fractional or spec.gpus > 1:
                whole, whole_h = whole + 1, whole_h + more_h
            elif slices is not None:
                sliced, sliced_h = sliced + 1, sliced_h + more_h
            else:
                exact += 1
    notes = []
    for jobs, text in (
        (exact, "a GPU get no more of it."),
        (
            sliced,
            "a GPU get the slices of the smallest instance that is large enough: "
            f"{number(sliced_h)} GPU hours more than requested.",
        ),
        (whole, f"GPUs get whole GPUs: {number(whole_h)} GPU hours more than requested."),
    ):
        if jobs:
            notes.append(f"{count(jobs, 'job')} that request a fraction of {text}")
    return tuple(notes)


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
