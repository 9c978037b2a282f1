"""Build the tables of attempts and servers of a drawn workload."""

import numpy as np
import polars as pl

from philly_analysis.distributions import Floats, Ints
from philly_analysis.models.parts import Parts, Servers
from philly_analysis.study import LAST_END

SERVER_GPUS = 8
"""GPUs of a server, where the model has no servers."""


def attempt_rows(
    jobs: pl.DataFrame, run_s: Floats, attempts: Ints, last_share: float, rng: np.random.Generator
) -> pl.DataFrame:
    """Return successive attempts of each job; all but the final attempt failed."""
    job = np.repeat(np.arange(run_s.size), attempts)
    first = np.cumsum(attempts) - attempts
    attempt = np.arange(job.size) - first[job]
    last = attempt == attempts[job] - 1
    # shares of the run time: fixed for each job's last attempt, normalised exponentials for earlier
    # attempts
    weight = np.where(last, 0.0, rng.standard_exponential(job.size))
    total = np.bincount(job, weight, run_s.size)
    share = np.where(
        last,
        np.where(attempts[job] == 1, 1.0, last_share),
        (1 - last_share) * weight / np.maximum(total[job], 1e-12),
    )
    ends = np.cumsum(share)
    base = ends[first] - share[first]
    until_s = np.floor((ends - base[job]) * run_s[job])
    until_s[last] = run_s
    from_s = np.where(attempt == 0, 0.0, np.roll(until_s, 1))
    submitted = jobs["submitted_at"].gather(job)
    ended = jobs["status"].replace_strict(LAST_END, default=None).gather(job)
    return pl.DataFrame(
        {
            "job_id": jobs["job_id"].gather(job),
            "attempt": attempt + 1,
            "started_at": submitted + pl.Series((from_s * 1e6).astype("timedelta64[us]")),
            "ended_at": submitted + pl.Series((until_s * 1e6).astype("timedelta64[us]")),
            "gpus": jobs["gpus"].gather(job),
            "end_reason": pl.select(
                pl.when(pl.Series(last)).then(ended).otherwise(pl.lit("failed"))
            ).to_series(),
        }
    )


def server_rows(model: Parts, gpus: int | None) -> pl.DataFrame:
    """Return servers of the fitted cluster's sizes, up to a number of GPUs."""
    servers = model.servers or ((Servers(SERVER_GPUS, 1),) if gpus else ())
    share = gpus / (model.cluster_gpus or SERVER_GPUS) if gpus else 1
    sizes: list[int] = []
    for size in sorted(servers, key=lambda s: -s.gpus):
        sizes += [size.gpus] * int(size.machines * share)
    while gpus and sum(sizes) < gpus:
        sizes.append(min(servers[-1].gpus, gpus - sum(sizes)))
    names = [f"machine-{i + 1:05d}" for i in range(len(sizes))]
    return pl.DataFrame({"machine_id": names, "gpus": pl.Series(sizes, dtype=pl.Int64)})
