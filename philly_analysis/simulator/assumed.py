"""What of the jobs of a what-if is as recorded, and what had to be assumed or drawn."""

from collections.abc import Sequence

from philly_analysis.prose import count, number
from philly_analysis.workload import JobSpec


def shares(specs: Sequence[JobSpec], *, parts: bool) -> tuple[str, ...]:
    """Say whether jobs that ask for a share of a GPU get that, or all of it."""
    asking = [spec for spec in specs if spec.gpu_frac < 1]
    parted = [spec for spec in asking if parts and spec.gpus == 1]
    said = []
    if parted:
        said.append(
            f"{count(len(parted), 'job')} that ask for a share of a GPU hold no more of it."
        )
    if whole := len(asking) - len(parted):
        idle_h = sum(s.gpus * s.run_s for s in asking) - sum(s.gpu_s for s in asking)
        idle_h -= sum(s.run_s - s.gpu_s for s in parted)
        said.append(
            f"{count(whole, 'job')} that ask for a share of GPUs hold all of them here: "
            f"{number(idle_h / 3600)} GPU hours more than they ask for."
        )
    return tuple(said)


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
