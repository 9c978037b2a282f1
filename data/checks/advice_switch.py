"""Compare the predicted with the realised gain of backfill, on simulated Slurm logs.

    python -m data.checks.advice_switch > docs/measured/advice-switch.csv

No public Slurm log is known in which backfilling was switched on at a known date. So a cluster of
16 GPUs is simulated for two months. Its queue blocks in the first, and backfills by the requested
time limits from the second month on. Both months are written as `sacct` prints them, and read back.
Advice is given on the first month. It takes two CPU minutes.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from philly_analysis import Trace, advise, ingest
from philly_analysis.simulator import Job, Plan, run
from philly_analysis.simulator.policies import Easy
from philly_analysis.workload import AttemptSpec, Estimates, JobSpec, fleet

LOADS = (0.3, 0.4, 0.5)
"""Offered loads that a queue which blocks can serve; above, it grows from month to month."""
JOBS, GPUS, MONTH_S = 600, 16, 30 * 86_400.0
"""Jobs of a month, GPUs of the cluster, and seconds of a month."""
CLUSTERS = 4
"""Clusters at each load, with jobs of their own."""
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
FIELDS = (
    "JobIDRaw|JobID|Partition|User|State|ExitCode|Submit|Eligible|Start|End|TimelimitRaw|NNodes|"
    "NCPUS|ReqTRES|AllocTRES|NodeList"
)


@dataclass(frozen=True)
class Switched(Easy):
    """First come, first served; EASY backfilling from a time on."""

    from_s: float = MONTH_S

    def _backfill(self, plan: Plan, first: Job) -> None:
        if plan.view.now_s >= self.from_s:
            super()._backfill(plan, first)


def month(seed: tuple[int, int], load: float) -> list[JobSpec]:
    """Return the jobs of a month: 1 to 16 GPUs, exponential run times, a given expected load.

    Jobs take the fewest servers of 4 GPUs, as the log says (NNodes).
    """
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 16], JOBS, p=[0.6, 0.2, 0.15, 0.05])
    mean_s = load * GPUS * MONTH_S / JOBS / 2.4  # 2.4 GPUs a job
    run_s = rng.exponential(mean_s, JOBS)
    submit_s = np.sort(rng.uniform(0, MONTH_S, JOBS))
    return [
        JobSpec(
            f"j{i}",
            f"v{i % 3}",
            f"u{i % 7}",
            int(g),
            float(s),
            (AttemptSpec(float(r), "completed"),),
            status="Pass",
            gpus_by_server=(int(g),) if g <= 4 else (4,) * (int(g) // 4),
        )
        for i, (g, r, s) in enumerate(zip(gpus, run_s, submit_s, strict=True))
    ]


def waits(jobs: list[JobSpec], from_s: float) -> dict[str, float]:
    """Return the wait of each job, in seconds, if backfilling is switched on at a time."""
    planned = Estimates(requested=True).apply(jobs, np.random.default_rng(0))
    schedule = run(planned, fleet("4x4"), Switched(from_s=from_s))
    started = schedule.attempts.select("job_id", "start_s").iter_rows()
    submit_s = {spec.job_id: spec.submit_s for spec in jobs}
    return {job: start_s - submit_s[job] for job, start_s in started}


def printed(jobs: list[JobSpec], waited: dict[str, float]) -> str:
    """Return the jobs as `sacct` prints them."""
    lines = [FIELDS]
    for number, spec in enumerate(jobs, 1):
        start_s = spec.submit_s + waited[spec.job_id]
        submit, start, end = (
            (BEGIN + timedelta(seconds=round(at))).strftime("%Y-%m-%dT%H:%M:%S")
            for at in (spec.submit_s, start_s, start_s + spec.run_s)
        )
        nodes = -(-spec.gpus // 4)
        servers = ",".join(f"m{i}" for i in range(1, nodes + 1))
        limit = round((spec.time_limit_s or 0) / 60)
        lines.append(
            f"{number}|{number}|gpu|{spec.user}|COMPLETED|0:0|{submit}|{submit}|{start}|{end}|"
            f"{limit}|{nodes}|{spec.gpus}||gres/gpu={spec.gpus}|{servers}"
        )
    return "\n".join(lines) + "\n"


def read_back(text: str, folder: Path) -> Path:
    """Ingest a printout with the cluster's servers."""
    folder.mkdir()
    node = "NodeName=m{} CPUTot=16 RealMemory=64000 Gres=gpu:4 State=IDLE\n"
    (folder / "nodes.txt").write_text("".join(map(node.format, range(1, 5))))
    (folder / "sacct.txt").write_text(text)
    ingest("slurm", folder, folder / "trace")
    return folder / "trace"


def waited_h(trace: Path) -> float:
    """Return the hours that the jobs of a trace waited."""
    with Trace(trace) as opened:
        [(wait_s,)] = opened.sql("select sum(wait_s) from waits where attempt = 1").fetchall()
    return float(wait_s) / 3600


def rates(load: float, seed: int, folder: Path) -> dict[str, object]:
    """Return what advice on the first month predicts, and what the second month realises."""
    jobs = [
        replace(
            spec,
            job_id=f"{n}-{spec.job_id}",
            submit_s=spec.submit_s + n * MONTH_S,
            time_limit_s=60.0 * -(-2 * spec.run_s // 60),
        )
        for n in range(2)
        for spec in month((100 + seed, n), load)
    ]
    switched, never = waits(jobs, MONTH_S), waits(jobs, np.inf)
    halves = jobs[: len(jobs) // 2], jobs[len(jobs) // 2 :]
    first, second = (
        read_back(printed(half, switched), folder / f"{load} {seed} {n}")
        for n, half in enumerate(halves)
    )
    advice = advise(first)
    # not known if no policy reproduces the waits, or another one than that of the cluster
    switch = advice.table.set_index("lever").reindex(["Switch on backfilling"]).iloc[0]
    without_h = sum(never[spec.job_id] for spec in halves[1]) / 3600
    return {
        "load": load,
        "card": any(text.startswith("Switch on backfilling") for text in advice.sentences),
        "predicted": switch["wait_h"],
        "low": switch["wait_h_low"],
        "high": switch["wait_h_high"],
        "realised": without_h - waited_h(second),
        "waited before": waited_h(first),
        "waited after": waited_h(second),
    }


def main() -> None:
    """Write a row for each cluster, in hours of waiting a month."""
    with TemporaryDirectory() as folder:
        cases = enumerate(product(LOADS, range(CLUSTERS)))
        rows = pd.DataFrame([rates(load, seed, Path(folder)) for seed, (load, _) in cases])
    hours = rows.columns[2:]
    rows[hours] = rows[hours].round().astype("Int64")
    print(rows.to_csv(index=False), end="")


if __name__ == "__main__":
    main()
