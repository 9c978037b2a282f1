"""What papers on GPU schedulers are quoted for, and who is simulated to see whether it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from philly_analysis.experiments import amoeba, antman, shares, synergy
from philly_analysis.simulator import AS_RECORDED, HostResources, Speed, run
from philly_analysis.simulator.policies import Fifo, Las, Policy, Srtf
from philly_analysis.workload import JobSpec, fleet

GPUS = 128
SERVERS = "16x8:24:500"
"""16 servers of 8 GPUs, 24 CPUs and 500 GB: Synergy's, of whose size the whole cluster is."""

FIFO, PASSING, LAS, SRTF = "FIFO", "FIFO with backfill", "LAS", "SRTF"
PROPORTIONAL, TUNED = "Synergy, proportional shares", "Synergy, tuned shares"
RIGID, ELASTIC = "Amoeba, rigid jobs", "Amoeba, elastic jobs"
BLOCKED, SHARING = "AntMan, queue that blocks", "AntMan, sharing"


@dataclass(frozen=True, slots=True)
class Headline:
    """A gain that a paper is quoted for.

    Attributes
    ----------
    says
        Who gains what against whom, as a phrase.
    arm, against
        What is simulated with it and without it.
    measure
        By which measure.
    more
        Whether more of it is better.
    printed
        How many times better the paper says, None: not printed.
    words
        In the paper's words, as far as these go.
    source
        Where it stands.
    """

    says: str
    arm: str
    against: str
    measure: str
    more: bool
    printed: float | None
    words: str
    source: str


HEADLINES: dict[str, Headline] = {
    "Synergy": Headline(
        "CPUs and memory by need, against proportional shares: mean completion time",
        *(TUNED, PROPORTIONAL, "mean_jct_h", False, synergy.PUBLISHED_RATIO),
        "up to 3.4 times",
        "OSDI'22, abstract",
    ),
    "Amoeba": Headline(
        "elastic jobs against rigid ones, under Tiresias' queues: mean completion time",
        *(ELASTIC, RIGID, "mean_jct_h", False, 1 / (1 - amoeba.PUBLISHED_REDUCTION_PCT / 100)),
        "as much as 29 % less",
        "arXiv 1909.11985 v1, abstract",
    ),
    "AntMan, compute": Headline(
        "GPUs shared, against a queue that blocks: compute in use",
        *(SHARING, BLOCKED, "compute_pct", True, 1 + antman.PUBLISHED_COMPUTE_PCT / 100),
        "34 % more",
        "OSDI'20, abstract",
    ),
    "AntMan, memory": Headline(
        "GPUs shared, against a queue that blocks: GPU memory in use",
        *(SHARING, BLOCKED, "memory_pct", True, 1 + antman.PUBLISHED_MEMORY_PCT / 100),
        "42 % more",
        "OSDI'20, abstract",
    ),
    "Tiresias' LAS": Headline(
        "least attained service against first come, first served: mean completion time",
        *(LAS, FIFO, "mean_jct_h", False, 5.5),
        "up to 5.5 times (over YARN)",
        "NSDI'19, abstract",
    ),
    "SRTF": Headline(
        "shortest remaining time against first come, first served: mean completion time",
        *(SRTF, FIFO, "mean_jct_h", False, None),
        "no printed number",
        "",
    ),
    "LAS, over backfill": Headline(
        "the same, against a queue that smaller gangs may pass: mean completion time",
        *(LAS, PASSING, "mean_jct_h", False, None),
        "no printed number",
        "",
    ),
    "SRTF, over backfill": Headline(
        "the same, against a queue that smaller gangs may pass: mean completion time",
        *(SRTF, PASSING, "mean_jct_h", False, None),
        "no printed number",
        "",
    ),
}
"""Headlines by what the page calls them; a queue that gangs may pass divides the last two."""

MEASURES = ["jobs", "mean_jct_h", "compute_pct", "memory_pct"]


def outcomes(month: Sequence[JobSpec], seed: int) -> Mapping[str, tuple[float, ...]]:
    """Run a month in every arm, all on the same jobs, and return what is measured, by arm.

    Parameters
    ----------
    seed
        Of what systems must know that jobs do not say: models, use, sensitivity.
    """
    shared, sharing = antman.SETTINGS[antman.USUAL]
    elastic, scaling = amoeba.SETTINGS[amoeba.USUAL]
    setting = shares.SETTINGS[shares.USUAL]
    typed = shares.typed(month, setting.split, seed)
    trained = scaling.completed(month, np.random.default_rng(seed))
    used = sharing.completed(month, np.random.default_rng(seed))
    by_need, of_antman, of_amoeba = (
        shares.arms(setting),
        antman.arms(shared, sharing),
        amoeba.arms(elastic),
    )
    arms: dict[str, tuple[Sequence[JobSpec], Policy, Speed]] = {
        FIFO: (month, Fifo(), AS_RECORDED),
        PASSING: (month, Fifo(backfill=True), AS_RECORDED),
        LAS: (month, Las(), AS_RECORDED),
        SRTF: (month, Srtf(), AS_RECORDED),
        PROPORTIONAL: (typed, by_need[shares.PROPORTIONAL], HostResources()),
        TUNED: (typed, by_need[shares.TUNE], HostResources()),
        RIGID: (trained, of_amoeba[amoeba.STATIC], scaling),
        ELASTIC: (trained, of_amoeba[amoeba.BOTH], scaling),
        BLOCKED: (used, *of_antman[antman.BLOCKED]),
        SHARING: (used, *of_antman[antman.SHARED]),
    }
    found = {}
    for arm, (specs, policy, speed) in arms.items():
        schedule = run(specs, fleet(SERVERS), policy, speed=speed)
        use = (np.nan, np.nan)
        if arm in (BLOCKED, SHARING):
            use = antman.in_use_pct(schedule, specs, GPUS)
        found[arm] = (len(specs), float(schedule.jct_s.mean()) / 3600, *use)
    return found
