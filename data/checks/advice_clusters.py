"""Advise clusters of an independent simulator, and realise the advice there in another month.

    python -m data.checks.advice_clusters docs/measured/advice-clusters.csv [SEED ...]

The simulator is ``tests/truth/schedulers.py``, in plain Python. Each log is a month of 16 servers
with 8 GPUs, as ``sacct``, ``scontrol`` and Prometheus print them. One lever is known to be right,
or none. The gain of the first lever is realised in another month of the same cluster, simulated
with and without the lever. Rows are written as they come, and a log with a row is skipped.
"""

import csv
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.checks.advice_months import DAY_S, HOUR_S, Cluster, Month, ran
from philly_analysis import Trace, ingest
from philly_analysis.experiments.advice import Advice, Assumptions, advise
from philly_analysis.parallel import InlineExecutor
from tests.truth.scenarios import GPUS, SERVERS, Scenario

LOADS, SEEDS, JOBS = (0.8, 0.7, 0.6), (1, 2, 3), 700
STRETCH = 23
"""Factor of run times, with which the jobs fill a month."""
QUIET = 0.3
"""Load at which nobody waits."""
SAMPLE = 0.3
"""Share of the jobs in a partial log."""
OTHER_MONTH, MONTHS = 1_000, 5
"""Seeds between a month and the month in which a gain is realised; months for harm on average."""
DRAWN = 6
"""Months that are drawn for intervals and harm: the default of advice."""
IDLE = 0.12
"""Share of jobs that keep their GPUs after the work."""
BAD, FAILURES = (3, 11), 20
"""Servers that fail, and failures of each in a month."""
ASSUMED = Assumptions()
RIGHT = {
    "FIFO": "backfill",
    "EASY": "",
    "capped": "raise_limits",
    "idle jobs": "end_idle",
    "bad servers": "repair or checkpoints",
    "no waits": "",
    "part": "",
}
HEAD = (
    *("scheduler", "jobs", "load", "seed", "right", "first", "card", "withheld", "predicted_h"),
    *("low_h", "high_h", "realised_h", "inside", "harm", "harm_5"),
)
SIZES = (1, 2, 4, 8)
"""Gang sizes of the jobs."""
MOST_RISE, LEAST_RISE_S = 1.25, 120
"""Factor and seconds above which a rise of the mean wait of a gang size is harm."""


class Log(NamedTuple):
    """What identifies a row of the table."""

    scheduler: str
    jobs: str
    load: float
    seed: int


def logs(seeds: list[int]) -> Iterator[Log]:
    """Yield the logs of some seeds; nobody waits, and a part of the log, at one load only."""
    for seed in seeds:
        for load in LOADS:
            for kind in RIGHT:
                for jobs in ("one server", "spreadable"):
                    once = kind in ("no waits", "part")
                    if not once or (load == LOADS[0] and jobs == "one server"):
                        yield Log(kind, jobs, QUIET if kind == "no waits" else load, seed)


def cluster_of(log: Log) -> Cluster:
    """Return the cluster of a log."""
    cap = round(1.15 * 0.4 * log.load * SERVERS * GPUS)  # account a0 has 40 % of the jobs
    scenario = Scenario(
        policy="strict" if log.scheduler in ("FIFO", "no waits", "part") else "easy",
        load=log.load,
        jobs=JOBS,
        caps=(("a0", cap),) if log.scheduler == "capped" else (),
        spreadable=float(log.jobs == "spreadable"),
        seed=log.seed,
        stretch=STRETCH,
    )
    return Cluster(
        scenario,
        idle=IDLE if log.scheduler == "idle jobs" else 0.0,
        bad=BAD if log.scheduler == "bad servers" else (),
        failures=FAILURES,
    )


def changed(now: Cluster, lever: str, worst_servers: tuple[str, ...]) -> Cluster | None:
    """Return the cluster after a lever; None: the simulator does not have the lever."""
    if lever == "backfill":
        return replace(now, scenario=replace(now.scenario, policy="easy"))
    if lever == "raise_limits":
        caps = tuple((name, round(ASSUMED.raise_factor * cap)) for name, cap in now.scenario.caps)
        return replace(now, scenario=replace(now.scenario, caps=caps))
    if lever == "end_idle":
        return replace(now, idle_most_h=ASSUMED.idle_h)
    if lever == "checkpoints":
        return replace(now, checkpoint_h=ASSUMED.checkpoint_h)
    if lever == "repair":
        drained = tuple(int(name.removeprefix("n")) for name in worst_servers)
        return replace(now, drained=drained, drained_d=ASSUMED.repair_days)
    return None


def realised_h(before: Month, after: Month, *, replayed: bool) -> float:
    """Return GPU hours gained a month.

    Parameters
    ----------
    replayed
        Whether the advice has waits. Otherwise the gain is GPU hours freed, and the GPU hours of
        drained servers are a cost.
    """
    gained_s = 0.0
    for number, was in before.costs.items():
        is_now = after.costs[number]
        gained_s += was.gpus * (was.held_s - is_now.held_s)
        gained_s += was.gpus * (was.wait_s - is_now.wait_s) if replayed else 0
    if not replayed:
        gained_s -= len(after.cluster.drained) * GPUS * after.cluster.drained_d * DAY_S
    return gained_s / HOUR_S * 30 * DAY_S / before.last_s


def mean_waits(months: list[tuple[Month, Month]]) -> dict[int, tuple[float, float]]:
    """Return the mean wait (s) of each gang size before and after a change, over some months."""
    waits = {}
    for size in SIZES:
        was_s, now_s = (
            float(np.mean([c.wait_s for m in of for c in m.costs.values() if c.gpus == size]))
            for of in zip(*months, strict=True)
        )
        waits[size] = was_s, now_s
    return waits


def harms(months: list[tuple[Month, Month]]) -> bool:
    """Return whether a gang size waits a quarter longer after a change, over some months."""
    return any(
        now_s > MOST_RISE * was_s and now_s - was_s > LEAST_RISE_S
        for was_s, now_s in mean_waits(months).values()
    )


def advised(month: Month, share: float, folder: Path, seed: int) -> Advice:
    """Return the advice on a month's log, or on a share of its jobs."""
    chosen = np.random.default_rng(seed).random(len(month.lines)) < share
    month.lines = [line for line, keep in zip(month.lines, chosen, strict=True) if keep]
    month.write(folder / "log")
    readings = None
    if month.series:
        readings = folder / "readings"
        month.write_readings(readings)
    ingest("slurm", folder / "log", folder / "trace", telemetry=readings)
    with Trace(folder / "trace") as trace:
        return advise(trace, InlineExecutor(), ASSUMED, DRAWN)


def row(log: Log) -> dict[str, object]:
    """Return what is advised on a log, and what comes of it."""
    now = cluster_of(log)
    with tempfile.TemporaryDirectory() as folder:
        share = SAMPLE if log.scheduler == "part" else 1.0
        advice = advised(ran(now), share, Path(folder), log.seed)
    row: dict[str, object] = {
        **log._asdict(),
        "right": RIGHT[log.scheduler],
        "first": advice.levers[0].name if advice.levers else "",
        "card": advice.best[0].name if advice.best else "",
        "withheld": bool(advice.withheld),
    }
    lever = next(iter((*advice.best, *advice.levers)), None)
    if lever is None:
        return row
    value = lever.gain.value_h
    row |= {"predicted_h": round(value.mean), "low_h": round(value.low)}
    row["high_h"] = round(value.high)
    months = []
    for n in range(1, MONTHS + 1):
        seed = log.seed + n * OTHER_MONTH
        other = replace(now, scenario=replace(now.scenario, seed=seed))
        if then := changed(other, lever.name, tuple(advice.worst_servers)):
            months.append((ran(other), ran(then)))
    if months:
        gain_h = realised_h(*months[0], replayed=not advice.withheld)
        row |= {"realised_h": round(gain_h), "inside": value.low <= gain_h <= value.high}
        row |= {"harm": harms(months[:1]), "harm_5": harms(months)}
    return row


def main() -> None:
    """Append the rows that the file lacks."""
    path = Path(sys.argv[1])
    seeds = [int(text) for text in sys.argv[2:]] or list(SEEDS)
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    have = {tuple(line[name] for name in Log._fields) for line in rows}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        if not rows:
            writer.writeheader()
        for log in logs(seeds):
            if tuple(map(str, log)) not in have:
                writer.writerow(row(log))
                file.flush()


if __name__ == "__main__":
    main()
