"""What of the jobs of a what-if is as recorded, and what had to be assumed or drawn."""

from collections.abc import Sequence

from philly_analysis.results import count, number
from philly_analysis.simulator.cluster.gpu_sharing import as_held
from philly_analysis.simulator.engine.pools import Pool
from philly_analysis.workload import JobSpec


def shares(pools: Sequence[Pool], *, parts: bool) -> tuple[str, ...]:
    """Say what jobs that ask for a share of a GPU hold: that, a profile that has it, or all of it.

    Parameters
    ----------
    parts
        Whether the policy parts GPUs.
    """
    exact = sliced = whole = 0
    sliced_h = whole_h = 0.0
    for pool in pools:
        slices = pool.machines[0].slices
        for spec in (spec for spec in pool.jobs if spec.gpu_frac < 1):
            more_h = (as_held(spec, slices if parts else 1).gpu_s - spec.gpu_s) / 3600
            if not parts or spec.gpus > 1:
                whole, whole_h = whole + 1, whole_h + more_h
            elif slices is not None:
                sliced, sliced_h = sliced + 1, sliced_h + more_h
            else:
                exact += 1
    said = []
    if exact:
        said.append(f"{count(exact, 'job')} that ask for a share of a GPU hold no more of it.")
    if sliced:
        said.append(
            f"{count(sliced, 'job')} that ask for a share of a GPU hold as many of its slices as "
            f"one instance has that is large enough: {number(sliced_h)} GPU hours more than they "
            "ask for."
        )
    if whole:
        said.append(
            f"{count(whole, 'job')} that ask for a share of GPUs hold all of them here: "
            f"{number(whole_h)} GPU hours more than they ask for."
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
