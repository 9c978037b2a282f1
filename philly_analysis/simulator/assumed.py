"""What of the jobs of a what-if is as recorded, and what had to be assumed or drawn."""

from collections.abc import Sequence

from philly_analysis.workload import JobSpec

_WORDS = {
    "job_type": "Model",
    "cpus": "CPUs",
    "mem_gb": "Host memory",
    "util_frac": "GPU utilisation",
    "gpu_mem_frac": "GPU memory",
}


def says(recorded: Sequence[JobSpec], completed: Sequence[JobSpec]) -> tuple[str, ...]:
    """Say of how many jobs each thing that the what-if uses is recorded, and of how many drawn.

    Parameters
    ----------
    recorded, completed
        The same jobs, before and after what they do not say was drawn.
    """
    said = []
    for field, word in _WORDS.items():
        drawn = sum(
            getattr(before, field) is None and getattr(after, field) is not None
            for before, after in zip(recorded, completed, strict=True)
        )
        if drawn:
            known = sum(getattr(spec, field) is not None for spec in recorded)
            said.append(
                f"{word}: as recorded for {known:,} of {len(recorded):,} jobs, drawn for {drawn:,}."
            )
    return tuple(said)
