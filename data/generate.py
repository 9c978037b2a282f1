"""Writes a small synthetic archive in the raw format of the Philly traces, quirks included.

Usage: python data/generate.py OUT [--seed N] [--days N] [--jobs N] [--machines N] [--gzip]

The same arguments give the same bytes. Nothing in it was recorded: job sizes, run times,
statuses, retries and utilisation are drawn from published figures (see published.py), waits
come from a small gang scheduler (see gangs.py); job_log.py and minutes.py write what it did.
"""

import argparse
import gzip
from datetime import timedelta
from pathlib import Path

import minutes
import numpy as np
from gangs import Job, Server, schedule
from job_log import DAY_S, PACIFIC, WARM_UP_S, Log, Plan, clock, write_log
from published import (
    FAILURE_MEDIAN_MIN,
    FAILURE_SIGMA,
    GANG_ATTEMPTS,
    LONG_FROM,
    MOST_ATTEMPTS,
    NO_ATTEMPT_FRAC,
    RETRY_PROBABILITY,
    STATUS_LONG,
    STATUS_SHORT,
    STATUSES,
    VC_LARGEST_GANG,
    VCS,
    gang_bucket,
    run_time_s,
)

LONGEST_S = DAY_S
"""Run times are cut at a day: a small cluster could not carry the study's weeks."""
OVERBOOKED = 2.0
"""Quotas in all, over the GPUs there are: three of four waits of gangs are then fragmentation, as
in the study's Table 2 (70 %)."""


def servers(count: int, rng: np.random.Generator) -> list[Server]:
    """Return machines: about half with 8 GPUs, a third with 2, a few with 4, the rest silent."""
    kinds = [8] * round(count * 0.53) + [4] * round(count * 0.06)
    silent = max(1, round(count * 0.06))
    kinds += [2] * (count - len(kinds) - silent)
    names = rng.permutation(10 * count)[:count]
    gpus = [*rng.permutation(kinds).tolist(), *[0] * silent]
    return [Server(f"m{n}", g, i % 2) for i, (n, g) in enumerate(zip(names, gpus, strict=True))]


def draw_jobs(plan: Plan, rng: np.random.Generator) -> list[Job]:
    """Return jobs in order of submission, from the warm-up to the last day."""
    from_s, until_s = -WARM_UP_S, plan.days * DAY_S
    count = round(plan.jobs * (until_s - from_s) / until_s)
    vc_share = np.array([jobs for jobs, _, _ in VCS], float)
    vc_share = vc_share**0.75  # the largest would else be nearly alone in so small a log
    vc_share /= vc_share.sum()
    sizes = np.array(list(GANG_ATTEMPTS))
    weights = np.array(list(GANG_ATTEMPTS.values()), float)
    users = [max(3, round(90 * share)) for share in vc_share]
    jobs: list[Job] = []
    while len(jobs) < count:
        at = rng.uniform(from_s, until_s)
        local = (plan.origin + timedelta(seconds=at)).astimezone(PACIFIC)
        # three times as many by day as by night, half as many at weekends
        busy = (1 + 0.5 * np.cos((local.hour - 15) / 24 * 2 * np.pi)) / 1.5
        if rng.random() > busy * (0.55 if local.weekday() >= 5 else 1.0):
            continue
        vc = int(rng.choice(len(VCS), p=vc_share))
        allowed = sizes <= VC_LARGEST_GANG[vc]
        p = weights * allowed / (weights * allowed).sum()
        multi = min(1.0, (VCS[vc][1] - 1) / ((sizes * p).sum() - 1))
        gpus = int(rng.choice(sizes, p=p)) if rng.random() < multi else 1
        user = int(min(users[vc] * rng.beta(0.7, 2.5), users[vc] - 1))
        # one request in twelve is a sweep: the same gang again and again, seconds apart
        for repeat in range(1 + (rng.geometric(0.25) if rng.random() < 0.08 and gpus == 1 else 0)):
            submit_s = int(at + 7 * repeat)
            jobs.append(draw_job(vc, user, gpus, submit_s, rng))
    for restart_s in plan.restarts_s[1:]:
        # the first jobs that a restarted manager takes
        jobs += [draw_job(0, 0, 1, restart_s + after_s, rng) for after_s in (12, 34)]
    for back_days in (6, 13, 24):  # survivors of an earlier time
        old = draw_job(4, 1, 8, -WARM_UP_S - back_days * DAY_S, rng)
        old.status, old.runs_s = "Killed", [(back_days + 5) * DAY_S - 3_319]
        jobs.append(old)
    return sorted((j for j in jobs if j.submit_s < until_s), key=lambda j: j.submit_s)


def draw_job(vc: int, user: int, gpus: int, submit_s: int, rng: np.random.Generator) -> Job:
    """Return one job: its run time by gang, its status by length, its failures before the end."""
    u = rng.random()
    total_s = run_time_s(u, gpus, LONGEST_S)
    status = str(rng.choice(STATUSES, p=STATUS_LONG if u >= LONG_FROM else STATUS_SHORT))
    runs_s: list[int] = []
    if rng.random() >= NO_ATTEMPT_FRAC:
        retry = RETRY_PROBABILITY[status][gang_bucket(gpus)]
        while len(runs_s) < MOST_ATTEMPTS - 1 and rng.random() < retry:
            failed_s = 60 * FAILURE_MEDIAN_MIN * rng.lognormal(0, FAILURE_SIGMA)
            runs_s.append(max(4, int(min(failed_s, total_s))))
        runs_s.append(max(3, int(total_s)))
    return Job(vc, user, gpus, submit_s, status, runs_s)


def write_machine_list(machines: list[Server]) -> str:
    """Return the list with its spaces, and wrong as in the archive.

    Three quarters of the 8-GPU servers are listed with 2 GPUs, half of the 2-GPU servers with 8.
    """
    rows = []
    ranks = {8: 0, 4: 0, 2: 0, 0: 0}
    for s in machines:
        ranks[s.gpus] += 1
        listed = 8 if s.gpus in (0, 4) or (s.gpus == 8) == (ranks[s.gpus] % 4 == 0) else 2
        if s.gpus == 2:
            listed = 8 if ranks[2] % 2 else 2
        rows.append((listed, s.machine_id))
    lines = [f"{m},{n}, {'12GB' if n == 2 else '24GB'}" for n, m in sorted(rows)]
    return "\n".join(["machineId, number of GPUs, single GPU mem", *lines]) + "\n"


def synthetic(plan: Plan, compress: bool) -> str:
    """Return the text of SYNTHETIC.md, whose first paragraph says what the archive is."""
    options = f"--seed {plan.seed} --days {plan.days} --jobs {plan.jobs} --machines {plan.machines}"
    sampled = [plan.origin + timedelta(seconds=s) for s in plan.sampled_s]
    command = f"python data/generate.py OUT {options}{' --gzip' if compress else ''}"
    return f"""\
This archive is synthetic: about {plan.jobs:,} jobs on {plan.machines} machines over {plan.days}
days, drawn with seed {plan.seed} from published figures of the Philly study (Jeon et al.,
USENIX ATC 2019) by `{command}`.
It has the raw format and the quirks of the public Philly archive. Nothing in it was recorded on
a real cluster, and nothing computed from it is a finding about Philly.

- Jobs are submitted from {clock(plan.origin)} UTC for {plan.days} days, the daylight-saving
  change of 2017-11-05 among them. As in the public archive, earlier jobs are those that
  survived until then, and a few of August have the false start 2017-09-02 03:45:02.
- Utilisation is recorded from {clock(sampled[0])} to {clock(sampled[1])} UTC, and written in
  Pacific time; five hours are missing.
- Run times are cut at one day and gangs at 32 GPUs, so that a small cluster can carry the load.
- Waits, placements and the effect of locality come from a small gang scheduler with quotas per
  virtual cluster, a three-minute hold, back-off, and locality relaxed step by step.
- A handful of rows is wrong on purpose: each should be counted, none should stop a reader.
"""


def generate(plan: Plan, out: Path, *, compress: bool = False) -> None:
    """Write the archive into a new folder."""
    rng = np.random.default_rng(plan.seed)
    machines = servers(plan.machines, rng)
    jobs = draw_jobs(plan, rng)
    working = [s for s in machines if s.gpus]
    capacity = sum(s.gpus for s in working)
    shares = np.array([held for _, _, held in VCS], float) ** 0.75
    quotas = [round(OVERBOOKED * capacity * s) for s in shares / shares.sum()]
    schedule([j for j in jobs if j.runs_s], machines, quotas, plan.days * DAY_S, rng)
    log = Log(plan, machines, rng)
    measured = minutes.measure(jobs, machines, plan.sampled_s, rng)
    out.mkdir(parents=True)
    files = {
        "cluster_job_log": write_log(plan, jobs, log, rng),
        "cluster_machine_list": write_machine_list(machines),
    }
    for name, lines in minutes.rows(measured, machines, plan.origin, rng).items():
        files[name] = "\n".join(lines) + "\n"
    (out / "SYNTHETIC.md").write_text(synthetic(plan, compress), "utf-8")
    for name, text in files.items():
        if compress and name != "cluster_machine_list":
            (out / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        else:
            (out / name).write_text(text, "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=20171105)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=3200)
    parser.add_argument("--machines", type=int, default=28)
    parser.add_argument("--gzip", action="store_true", help="compress all but the machine list")
    given = parser.parse_args()
    generate(
        Plan(given.seed, given.days, given.jobs, given.machines), given.out, compress=given.gzip
    )
