"""Gains that papers on GPU schedulers are cited for, and the simulations that test them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from philly_analysis.experiments import amoeba, antman, synergy_arms
from philly_analysis.experiments.effects import USUAL
from philly_analysis.experiments.experiment import read_table
from philly_analysis.simulator import AS_RECORDED, HostResources, Speed, run
from philly_analysis.simulator.policies import Fifo, Las, Policy, Srtf
from philly_analysis.workload import JobSpec, fleet

GPUS = 128
SERVERS = "16x8:24:500"
"""16 servers of 8 GPUs, 24 CPUs and 500 GB, as in Synergy's paper."""

_BLOCKED, _SHARING = "AntMan, queue that blocks", "AntMan, sharing"


@dataclass(frozen=True, slots=True)
class Headline:
    """A gain that a paper is cited for.

    Attributes
    ----------
    phrase
        The gain as a phrase: system, measure, and arm for comparison.
    arm, against
        Arms to simulate: with the mechanism, and without.
    measure, more
        The measure, and whether more of the measure is better.
    printed
        The paper's gain as a factor; None: not printed.
    words, source
        The paper's words and their place.
    """

    phrase: str
    arm: str
    against: str
    measure: str
    more: bool = False
    printed: float | None = None
    words: str = "no printed number"
    source: str = ""


HEADLINES = {name: Headline(**table) for name, table in read_table("headlines.toml").items()}
"""Headlines by name; a queue that gangs may pass is the baseline of the last two."""

MEASURES = ["jobs", "mean_jct_h", "compute_pct", "memory_pct"]


def outcomes(month: Sequence[JobSpec], seed: int) -> Mapping[str, tuple[float, ...]]:
    """Return the measures of every arm, simulated on the same jobs.

    Parameters
    ----------
    seed
        Seed of the properties that systems need and jobs lack: models, GPU use, sensitivity.
    """
    sharing_policy, sharing = antman.SETTINGS[USUAL]
    elastic = amoeba.SETTINGS[USUAL]
    setting = synergy_arms.SETTINGS[synergy_arms.USUAL]
    typed = synergy_arms.with_models(month, setting.split, seed)
    trained = elastic.speed.complete(month, np.random.default_rng(seed))
    used = sharing.complete(month, np.random.default_rng(seed))
    by_need, hosts = synergy_arms.arms(setting), HostResources()
    of_antman = antman.policies(sharing_policy, sharing)
    of_amoeba = amoeba.policies(*elastic)
    arms: dict[str, tuple[Sequence[JobSpec], Policy, Speed]] = {
        "FIFO": (month, Fifo(), AS_RECORDED),
        "FIFO with backfill": (month, Fifo(backfill=True), AS_RECORDED),
        "LAS": (month, Las(), AS_RECORDED),
        "SRTF": (month, Srtf(), AS_RECORDED),
        "Synergy, proportional shares": (typed, by_need[synergy_arms.PROPORTIONAL], hosts),
        "Synergy, tuned shares": (typed, by_need[synergy_arms.TUNE], hosts),
        "Amoeba, rigid jobs": (trained, *of_amoeba[amoeba.STATIC]),
        "Amoeba, elastic jobs": (trained, *of_amoeba[amoeba.BOTH]),
        _BLOCKED: (used, *of_antman[antman.BLOCKED]),
        _SHARING: (used, *of_antman[antman.SHARED]),
    }
    outcomes = {}
    for arm, (specs, policy, speed) in arms.items():
        schedule = run(specs, fleet(SERVERS), policy, speed=speed)
        use = (np.nan, np.nan)
        if arm in (_BLOCKED, _SHARING):
            use = antman.in_use_pct(schedule, specs, GPUS)
        outcomes[arm] = (len(specs), float(schedule.jct_s.mean()) / 3600, *use)
    return outcomes
