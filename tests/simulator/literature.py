"""Define the job distribution that papers assume: Gavel's generator, from its description."""

import numpy as np

from philly_analysis.workload import AttemptSpec, JobSpec


def literature(jobs: int, gpus: int, seed: int) -> list[JobSpec]:
    rng = np.random.default_rng(seed)
    arrival_s = np.cumsum(rng.exponential(1.0, jobs))
    long = rng.random(jobs) >= 0.8
    minutes = 10 ** np.where(long, rng.uniform(3, 4, jobs), rng.uniform(1.5, 3, jobs))
    gangs = rng.choice([1, 2, 4, 8], jobs, p=[0.70, 0.10, 0.15, 0.05])
    return [
        JobSpec(
            f"j{i:06d}", "v", "u", int(g), float(t), (AttemptSpec(float(m) * 60),), status="Pass"
        )
        for i, (t, m, g) in enumerate(zip(arrival_s, minutes, gangs, strict=True))
    ]
