"""Generate a small synthetic archive in the raw format of the Philly traces.

    python -m data.sample.generator.archive OUT [--seed N] [--days N] [--jobs N] [--machines N]
        [--load X] [--gzip]

The same arguments give the same bytes. Nothing in the archive was recorded: jobs are sampled from
shipped models (demand.py) and published figures, simulated under the study's scheduler, and cut to
what a cluster would have recorded (recording.py). The result is exported in the archive's layout
and gets the archive's quirks (quirks.py).
"""

import argparse
import gzip
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from data.sample.generator import quirks
from data.sample.generator.demand import (
    LARGEST_GANG,
    NOTEBOOK_GPUS,
    NOTEBOOK_USER,
    draw,
    requests,
    start_up_s,
)
from data.sample.generator.plan import READING_S, Plan, clock
from data.sample.generator.recording import record
from data.sample.generator.servers import DAYS_BETWEEN_OUTAGES, outages, servers
from data.sample.generator.utilisation import PlacedUtilisation
from philly_analysis import export
from philly_analysis.simulator import simulate

ASKS = 6
"""Requests of a gang before each step of relaxed locality: some gangs wait, some are spread."""
CHECKPOINT_S = 3_600
"""Time between two checkpoints of a job, to which it falls back after an outage."""


def synthetic(plan: Plan, compress: bool) -> str:
    """Return the text of SYNTHETIC.md; its first paragraph describes the archive."""
    options = " ".join(f"--{name} {value}" for name, value in asdict(plan).items())
    options += " --gzip" * compress
    command = f"python -m data.sample.generator.archive OUT {options}"
    return f"""\
This archive is synthetic: about {plan.jobs:,} jobs on {plan.machines} machines over {plan.days}
days. They were drawn with seed {plan.seed} from models and published figures of the Philly study
(Jeon et al., USENIX ATC 2019), then simulated and exported by `{command}`.
It has the raw format and the quirks of the public Philly archive. Nothing in it was recorded on
a real cluster, and nothing computed from it is a finding about Philly.

- Jobs are submitted from {clock(plan.origin)} UTC for {plan.days} days, the daylight-saving
  change of 2017-11-05 among them. As in the public archive, earlier jobs are those that
  survived until then.
- Submission times, virtual clusters, gangs and run times are sampled from the shipped model
  `philly` (passed jobs) and thinned to the gangs of `philly-attempts` (every ending). The longest
  jobs and gangs of more than {LARGEST_GANG} GPUs are left out, so that a small cluster can carry
  the load. How jobs end and how often they are retried follows the study's shares.
- Waits and placements come from the simulator's policy `philly`: quotas per virtual cluster
  (`quotas.csv`), a three-minute hold, back-off, and locality relaxed a step after {ASKS} requests.
  Between a submission, or the end of a failed attempt, and the request that the scheduler sees lies
  a drawn start-up time. `truth.parquet` has the causes of each wait, in seconds, as simulated.
- One server fails every {DAYS_BETWEEN_OUTAGES} days or so. The user {NOTEBOOK_USER} starts
  a notebook of {NOTEBOOK_GPUS} GPUs every morning and hardly computes.
- Utilisation has the means of the study's Table 3, and is lower for gangs on more servers than they
  need, as in its Tables 4 and 5. There is a reading every {READING_S // 60} minutes of all
  {plan.days} days, the mean of that time, in Pacific time; five hours are missing. CPU and memory
  follow the curves of its Figure 7.
- A handful of rows is wrong on purpose: each should be counted, none should stop a reader.
"""


def generate(plan: Plan, out: Path, *, compress: bool = False) -> None:
    """Write the archive into a folder, whose files of the same names are replaced."""
    rng = np.random.default_rng(plan.seed)
    machines, silent = servers(plan)
    jobs = draw(plan, sum(m.gpus for m in machines), rng)
    start_ups_s = {job.job_id: round(start_up_s(rng)) for job in jobs}
    workload = requests(jobs, start_ups_s, machines, plan)
    earlier_s = -min(job.submit_s + start_ups_s[job.job_id] for job in jobs if job.attempts)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        simulate(
            workload,
            "philly",
            folder / "run",
            knobs={"asks": ASKS},
            cluster=machines,
            samples=PlacedUtilisation(),
            outages=outages(plan, earlier_s),
            checkpoint_s=CHECKPOINT_S,
            seed=plan.seed,
        )
        trace, truth = record(
            folder / "run", jobs, start_ups_s, silent, plan, folder / "recorded", rng
        )
        export(trace, "philly", folder / "raw")
        files = {f.name: f.read_text("utf-8") for f in sorted((folder / "raw").iterdir())}
    large = [m.machine_id for m in machines if m.gpus == 8]
    out.mkdir(parents=True, exist_ok=True)
    (out / "SYNTHETIC.md").write_text(synthetic(plan, compress), "utf-8")
    workload.virtual_clusters.pl().select("vc", "gpus").write_csv(out / "quotas.csv")
    truth.write_parquet(out / "truth.parquet", compression_level=19)
    for name, text in files.items():
        if name == "cluster_machine_list":
            (out / name).write_text(text, "utf-8")
            continue
        corrupted = (
            quirks.job_log(text, rng)
            if name == "cluster_job_log"
            else quirks.utilisation(name, text, large, rng)
        )
        if compress:
            (out / f"{name}.gz").write_bytes(gzip.compress(corrupted.encode(), 9, mtime=0))
        else:
            (out / name).write_text(corrupted, "utf-8")


if __name__ == "__main__":
    usual = Plan()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--days", type=int, default=usual.days)
    parser.add_argument("--jobs", type=int, default=usual.jobs)
    parser.add_argument("--machines", type=int, default=usual.machines)
    parser.add_argument("--load", type=float, default=usual.load)
    parser.add_argument("--gzip", action="store_true", help="compress all but the machine list")
    args = parser.parse_args()
    plan = Plan(args.seed, args.days, args.jobs, args.machines, args.load)
    generate(plan, args.out, compress=args.gzip)
