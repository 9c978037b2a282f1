"""Generate a small synthetic archive in the raw format of the Philly traces.

Usage: python data/generate.py OUT [--seed N] [--days N] [--jobs N] [--machines N] [--gzip]

The same arguments give the same bytes. Nothing in the archive was recorded: jobs are sampled from
shipped models (demand.py) and published figures, simulated under the study's scheduler, and cut to
what a cluster would have recorded (recording.py). The result is exported in the archive's layout
and gets the archive's quirks (quirks.py).
"""

import argparse
import gzip
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import quirks
from demand import LARGEST_GANG, draw, requests
from plan import Plan, clock
from recording import record

from philly_analysis import export
from philly_analysis.simulator import simulate
from philly_analysis.simulator.output.samples import PublishedMeans
from philly_analysis.workload import Machine, fleet

UTILISATION = PublishedMeans(between=4.0, within=0.8)
"""Spreads between and within jobs that meet the percentiles of the notebook's Figure 5 to within 4
points on average."""


def servers(count: int, rng: np.random.Generator) -> tuple[list[Machine], list[Machine]]:
    """Return the machines, in racks of equal ones, and the machines that no job uses.

    About half have 8 GPUs, a third have 2, a few have 4.
    """
    large, middle, silent = round(count * 0.53), round(count * 0.06), max(1, round(count * 0.06))
    small = count - large - middle - silent
    kinds = ((large, 8, 8), (middle, 4, 4), (small, 2, 5))
    text = ",".join(f"{n}x{gpus}@{rack}" for n, gpus, rack in kinds if n)
    machines = [*fleet(text), *[Machine("", 0)] * silent]
    names = rng.permutation(10 * count)[:count]
    named = [replace(m, machine_id=f"m{n}") for m, n in zip(machines, names, strict=True)]
    return named[:-silent], named[-silent:]


def synthetic(plan: Plan, compress: bool) -> str:
    """Return the text of SYNTHETIC.md; its first paragraph describes the archive."""
    options = f"--seed {plan.seed} --days {plan.days} --jobs {plan.jobs} --machines {plan.machines}"
    sampled = [plan.at(s) for s in plan.sampled_s]
    command = f"python data/generate.py OUT {options}{' --gzip' if compress else ''}"
    return f"""\
This archive is synthetic: about {plan.jobs:,} jobs on {plan.machines} machines over {plan.days}
days, drawn with seed {plan.seed} from models and published figures of the Philly study (Jeon et
al., USENIX ATC 2019), simulated and exported by `{command}`.
It has the raw format and the quirks of the public Philly archive. Nothing in it was recorded on
a real cluster, and nothing computed from it is a finding about Philly.

- Jobs are submitted from {clock(plan.origin)} UTC for {plan.days} days, the daylight-saving
  change of 2017-11-05 among them. As in the public archive, earlier jobs are those that
  survived until then, and a few of August have the false start 2017-09-02 03:45:02.
- Submission times, virtual clusters, gangs and run times are sampled from the shipped model
  `philly` (passed jobs) and thinned to the gangs of `philly-attempts` (every ending). The longest
  jobs and gangs of more than {LARGEST_GANG} GPUs are left out, so that a small cluster can carry
  the load. How jobs end and how often they are retried follows the study's shares.
- Waits and placements come from the simulator's policy `philly`: quotas per virtual cluster, a
  three-minute hold, back-off, and locality relaxed step by step. Between a submission, or the end
  of a failed attempt, and the request that the scheduler sees lies a drawn start-up time.
- Utilisation has the means of the study's Tables 3 and 5. It is recorded from
  {clock(sampled[0])} to {clock(sampled[1])} UTC and written in Pacific time; five hours are
  missing. CPU and memory follow the curves of its Figure 7.
- A handful of rows is wrong on purpose: each should be counted, none should stop a reader.
"""


def generate(plan: Plan, out: Path, *, compress: bool = False) -> None:
    """Write the archive into a new folder."""
    rng = np.random.default_rng(plan.seed)
    machines, silent = servers(plan.machines, rng)
    jobs = draw(plan, sum(m.gpus for m in machines), rng)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        simulate(
            requests(jobs, machines, plan, rng),
            "philly",
            folder / "run",
            machines=machines,
            samples=UTILISATION,
            seed=plan.seed,
        )
        trace = record(folder / "run", jobs, silent, plan, folder / "recorded", rng)
        export(trace, "philly", folder / "raw")
        files = {f.name: f.read_text("utf-8") for f in sorted((folder / "raw").iterdir())}
    large = [m.machine_id for m in machines if m.gpus == 8]
    out.mkdir(parents=True)
    (out / "SYNTHETIC.md").write_text(synthetic(plan, compress), "utf-8")
    for name, text in files.items():
        if name == "cluster_machine_list":
            (out / name).write_text(text, "utf-8")
            continue
        corrupted = (
            quirks.job_log(text, large, rng)
            if name == "cluster_job_log"
            else quirks.utilisation(name, text, large, rng)
        )
        if compress:
            (out / f"{name}.gz").write_bytes(gzip.compress(corrupted.encode(), 9, mtime=0))
        else:
            (out / name).write_text(corrupted, "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=20171105)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=3200)
    parser.add_argument("--machines", type=int, default=28)
    parser.add_argument("--gzip", action="store_true", help="compress all but the machine list")
    args = parser.parse_args()
    generate(Plan(args.seed, args.days, args.jobs, args.machines), args.out, compress=args.gzip)
