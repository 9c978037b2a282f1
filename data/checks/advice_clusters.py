"""Advise clusters of an independent simulator, and realise the advice there in another month.

    python -m data.checks.advice_clusters docs/measured/advice-clusters.csv [SEED ...]

The simulator is ``tests/truth/schedulers.py``, in plain Python. Each log is a month of 16 servers
with 8 GPUs, as ``sacct`` and ``scontrol`` print them. One lever is known to be right, or none. The
gain is realised in another month of the same cluster, simulated with and without the lever. Rows
are written as they come, and a log with a row is skipped; a log takes a minute on a loaded machine.
"""

import csv
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from philly_analysis import Trace, ingest
from philly_analysis.experiments.advice import Advice, Assumptions, advise
from philly_analysis.parallel import InlineExecutor
from tests.truth.scenarios import GPUS, SERVERS, Job, Scenario
from tests.truth.schedulers import Scheduler

LOADS, SEEDS, JOBS = (0.8, 0.7, 0.6), (1, 2, 3), 700
STRETCH = 23
"""Factor of run times, with which the jobs fill a month."""
QUIET = 0.3
"""Load at which nobody waits."""
SAMPLE = 0.3
"""Share of the jobs in a partial log."""
OTHER_MONTH = 1_000
"""Seeds between a month and the month in which a gain is realised."""
RIGHT = {"FIFO": "backfill", "EASY": "", "capped": "raise_limits", "no waits": "", "part": ""}
HEAD = (
    *("scheduler", "jobs", "load", "seed", "right", "first", "card", "withheld", "predicted_h"),
    *("low_h", "high_h", "realised_h", "inside", "harm"),
)
MOST_RISE = 1.25


class Month(Scheduler):
    """A month of a cluster, with what each job waited."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.waits: dict[int, tuple[int, int]] = {}
        self.days = 0.0

    def end(self, job: Job, now_s: int, state: str) -> None:
        """Record the wait, and log the job."""
        self.waits[job.number] = job.gpus, job.ready_s - job.submitted_s
        self.days = max(self.days, job.submitted_s / 86_400)
        super().end(job, now_s, state)


def scenario(kind: str, load: float, seed: int, *, spreadable: bool) -> Scenario:
    """Return the cluster of a kind."""
    rate = QUIET if kind == "no waits" else load
    cap = round(1.15 * 0.4 * load * SERVERS * GPUS)  # account a0 has 40 % of the jobs
    return Scenario(
        policy="easy" if kind == "EASY" else "strict" if kind != "capped" else "easy",
        load=rate,
        jobs=JOBS,
        caps=(("a0", cap),) if kind == "capped" else (),
        spreadable=float(spreadable),
        seed=seed,
        stretch=STRETCH,
    )


def changed(now: Scenario, lever: str) -> Scenario | None:
    """Return the cluster after a lever; None: the simulator does not have the lever."""
    if lever == "backfill":
        return replace(now, policy="easy")
    if lever == "raise_limits":
        factor = Assumptions().raise_factor
        return replace(now, caps=tuple((name, round(factor * cap)) for name, cap in now.caps))
    return None


def realised(now: Scenario, lever: str) -> tuple[float, bool] | None:
    """Return GPU hours of waiting saved a month, and whether a gang size waits a quarter longer."""
    if (then := changed(now, lever)) is None:
        return None
    before, after = Month(now), Month(then)
    before.run()
    after.run()
    saved_s = sum(g * (w - after.waits[n][1]) for n, (g, w) in before.waits.items())
    harm = False
    for size in (1, 2, 4, 8):
        was, is_now = (
            [w for g, w in month.waits.values() if g == size] for month in (before, after)
        )
        mean_was, mean_now = sum(was) / len(was), sum(is_now) / len(is_now)
        harm |= mean_now > MOST_RISE * mean_was and mean_now - mean_was > 120
    return saved_s / 3600 * 30 / before.days, harm


def advised(month: Month, share: float, folder: Path, seed: int) -> Advice:
    """Return the advice on a month's log, or on a share of its jobs."""
    chosen = np.random.default_rng(seed).random(len(month.lines)) < share
    month.lines = [line for line, keep in zip(month.lines, chosen, strict=True) if keep]
    month.write(folder / "log")
    ingest("slurm", folder / "log", folder / "trace")
    with Trace(folder / "trace") as trace:
        return advise(trace, InlineExecutor(), Assumptions(), 3)


def row(kind: str, load: float, seed: int, *, spreadable: bool) -> dict[str, object]:
    """Return what is advised on a log, and what comes of it."""
    now = scenario(kind, load, seed, spreadable=spreadable)
    month = Month(now)
    month.run()
    with tempfile.TemporaryDirectory() as folder:
        advice = advised(month, SAMPLE if kind == "part" else 1.0, Path(folder), seed)
    first = advice.best[0] if advice.best else None
    row: dict[str, object] = {
        "scheduler": kind,
        "jobs": "spreadable" if spreadable else "one server",
        "load": now.load,
        "seed": seed,
        "right": RIGHT[kind],
        "first": advice.levers[0].name if advice.levers else "",
        "card": first.name if first else "",
        "withheld": bool(advice.withheld),
    }
    if first is not None:
        value = first.gain.value_h
        row |= {"predicted_h": round(value.mean), "low_h": round(value.low)}
        row["high_h"] = round(value.high)
        outcome = realised(replace(now, seed=seed + OTHER_MONTH), first.name)
        if outcome is not None:
            row["realised_h"], row["harm"] = round(outcome[0]), outcome[1]
            row["inside"] = value.low <= outcome[0] <= value.high
    return row


def main() -> None:
    """Append the rows that the file lacks."""
    path = Path(sys.argv[1])
    seeds = [int(text) for text in sys.argv[2:]] or SEEDS
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    have = {(r["scheduler"], r["jobs"], r["load"], r["seed"]) for r in rows}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        if not rows:
            writer.writeheader()
        for seed, load, kind, spreadable in product(seeds, LOADS, RIGHT, (False, True)):
            if kind in ("no waits", "part") and (load != LOADS[0] or spreadable):
                continue
            key = (kind, "spreadable" if spreadable else "one server")
            rate = QUIET if kind == "no waits" else load
            if (*key, str(rate), str(seed)) not in have:
                writer.writerow(row(kind, load, seed, spreadable=spreadable))
                file.flush()


if __name__ == "__main__":
    main()
