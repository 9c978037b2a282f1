"""Generate the output of a synthetic archive's failed attempts, as JSON lines.

Usage: python -m data.sample.generator.failure_output ARCHIVE OUT.jsonl.gz [--seed N]

The same archive and seed give the same bytes. Reasons are drawn from the study's Table 7, weighted
by its trials per gang size and by the likelihood of the attempt's run time. The archive's
truth.parquet has the reasons of attempts that the scheduler or an outage ended. The texts are our
own (failure_texts.py).
"""

import argparse
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import numpy as np
import polars as pl

from data.sample.generator.failure_texts import BANNERS, CASCADES, PROGRESS, ROOTS
from philly_analysis.study import StudyRow, table_7

SEED = 20171105
Z90 = 1.2815515655
"""The normal distribution's 90th percentile, in standard deviations."""
LEAST_SIGMA = 0.3
REPEATS = 0.6
"""Share of repeated failures of a job with the previous failure's reason."""
NO_OUTPUT = 0.03
"""Share of failed attempts whose output was lost."""
OF_CLUSTER = {"preempted": "Job preempted", "node_failure": "GPU ECC error"}
"""Reasons of attempts that the cluster ended, by their end reason in truth.parquet."""
BROKEN = 3
"""Deliberately invalid records: an unknown job, a repeated attempt, and no text."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed attempt.

    Attributes
    ----------
    run_s
        Run time of the attempt; None if the log lacks its times.
    reason
        Reason of the failure, if known.
    """

    job_id: str
    attempt: int
    gpus: int
    run_s: float | None
    reason: str | None = None


def failed_attempts(
    log: list[object], reasons: Mapping[tuple[str, int], str] = MappingProxyType({})
) -> Iterator[Failed]:
    """Yield the attempts of a job log before a retry, and the last attempts of failed jobs.

    `reasons` has known reasons by job and attempt.
    """
    for job in log:
        if not isinstance(job, dict) or "jobid" not in job:
            continue
        attempts = job["attempts"]
        for number, attempt in enumerate(attempts, start=1):
            if number < len(attempts) or job["status"] == "Failed":
                gpus = sum(len(held["gpus"]) for held in attempt["detail"])
                key = job["jobid"], number
                yield Failed(*key, gpus, _run_s(attempt), reasons.get(key))


def known_reasons(truth: Path) -> dict[tuple[str, int], str]:
    """Return the reasons of attempts that the cluster ended, by job and attempt."""
    waits = pl.read_parquet(truth).filter(pl.col("after").is_in(OF_CLUSTER))
    rows = waits.select("job_id", pl.col("attempt") - 1, "after").iter_rows()
    return {(job_id, attempt): OF_CLUSTER[after] for job_id, attempt, after in rows}


def _run_s(attempt: dict[str, str]) -> float | None:
    times = attempt["start_time"], attempt["end_time"]
    if "None" in times:
        return None
    start, end = map(datetime.fromisoformat, times)
    return max((end - start).total_seconds(), 1)


def likelihood(row: StudyRow, gpus: int, run_s: float | None) -> float:
    """Return the likelihood, up to a factor, of this row's reason for a gang size and run time.

    The run time to failure is log-normal with the row's median and 90th percentile.
    """
    trials = row.gpus_1 if gpus <= 1 else row.gpus_2_4 if gpus <= 4 else row.gpus_over_4
    if run_s is None or not trials:
        return float(trials)
    sigma = max(math.log(row.rtf_p90_min / row.rtf_p50_min) / Z90, LEAST_SIGMA)
    z = (math.log(run_s / 60) - math.log(row.rtf_p50_min)) / sigma
    return trials * math.exp(-z * z / 2) / sigma + 1e-12


def draw_reasons(attempts: Iterable[Failed], rng: np.random.Generator) -> Iterator[str]:
    """Draw a reason for each attempt; repeated failures of a job often have the same one."""
    rows = table_7()
    last: dict[str, str] = {}
    for attempt in attempts:
        if attempt.reason is not None:
            yield attempt.reason
            continue
        weights = np.array([likelihood(r, attempt.gpus, attempt.run_s) for r in rows])
        reason = rows[int(rng.choice(len(rows), p=weights / weights.sum()))].reason
        if attempt.job_id in last and rng.random() < REPEATS:
            reason = last[attempt.job_id]
        last[attempt.job_id] = reason
        yield reason


def compose(reason: str, gpus: int, run_s: float | None, rng: np.random.Generator) -> str:
    """Compose one attempt's output: banner, progress, root cause, follow-up errors."""
    minutes = 1.0 if run_s is None else run_s / 60
    values = {
        "script": f"{_one(('train', 'main', 'run', 'finetune'), rng)}.py",
        "data": f"/data/set{rng.integers(40)}/part-{rng.integers(1000):05d}",
        "ckpt": f"/models/exp{rng.integers(400)}/model.{rng.integers(90)}",
        "module": _one(("lmdb", "sacred", "progress", "hickle", "nltk"), rng),
        "host": f"m{rng.integers(500)}",
        "rank": int(rng.integers(2, 8)),
        "step": int(rng.integers(10, 90)) * 100,
        "gib": int(rng.integers(2, 60)),
        "pid": int(rng.integers(1_000, 60_000)),
        "n": int(rng.integers(10, 400)),
    }
    lines = [_one(BANNERS, rng).format(**values)]
    progress = _one(PROGRESS, rng)
    for step in range(int(min(8, math.log2(1 + minutes)))):
        values_now = values | {"epoch": step, "step": 100 * (step + 1), "loss": 7 * 0.8**step}
        lines.append(progress.format(**values_now))
    lines.append(_one(ROOTS[reason], rng).format(**values))
    if gpus > 1 and reason not in ("No signature", "Job preempted") and rng.random() < 0.7:
        lines.append(_one(CASCADES, rng).format(**values))
    return "\n".join(lines) + "\n"


def _one(texts: tuple[str, ...], rng: np.random.Generator) -> str:
    return texts[int(rng.integers(len(texts)))]


def records(attempts: list[Failed], rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Yield one record per failed attempt, and a few invalid ones."""
    recorded = [a for a in attempts if rng.random() >= NO_OUTPUT]
    for attempt, reason in zip(recorded, draw_reasons(recorded, rng), strict=True):
        text = compose(reason, attempt.gpus, attempt.run_s, rng)
        yield {"job_id": attempt.job_id, "attempt": attempt.attempt, "text": text}
    if recorded:
        again = {"job_id": recorded[0].job_id, "attempt": recorded[0].attempt}
        yield {"job_id": "application_0_0000", "attempt": 1, "text": "KeyError: 1"}
        yield again | {"text": "KeyError: 2"}
        yield again


def write(archive: Path, out: Path, seed: int) -> int:
    """Write the records of an archive's failed attempts; return their number."""
    plain, packed = archive / "cluster_job_log", archive / "cluster_job_log.gz"
    log = json.loads(
        gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    )
    failed = list(failed_attempts(log, known_reasons(archive / "truth.parquet")))
    lines = list(records(failed, np.random.default_rng(seed)))
    text = "".join(json.dumps(record) + "\n" for record in lines)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return len(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    print(f"{write(args.archive, args.out, args.seed):,} records")
