"""How many events per second the simulator goes through, on jobs and machines like Philly's."""

import resource
import sys
import time
from dataclasses import dataclass

from philly_analysis.models.library import load_model
from philly_analysis.simulator import fleet, policy_named, run
from philly_analysis.workload.quotas import quotas_of

MACHINES = "240x8@40,24x4@24,288x2@48"
"""552 machines, 2,592 GPUs: what placements in the Philly archive show, nearly."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one simulation took."""

    policy: str
    jobs: int
    events: int
    cpu_s: float
    peak_mb: float

    @property
    def events_per_s(self) -> float:
        """Events per second of processor time."""
        return self.events / self.cpu_s


def measure(policy: str, *, jobs: int = 117_325, load: float = 0.9, seed: int = 0) -> Measured:
    """Simulate the calibrated model's jobs at a load, and say what it took.

    Drawing the jobs is not counted; ``peak_mb`` is of the whole process till then.
    """
    machines = fleet(MACHINES)
    gpus = sum(m.gpus for m in machines)
    model = load_model("philly")
    first = list(model.sample(jobs=jobs, gpus=gpus, seed=seed).specs())
    span_s = max(s.submit_s for s in first)
    offered = sum(s.gpus * s.run_s for s in first) / span_s / gpus
    workload = model.sample(jobs=jobs, gpus=gpus, seed=seed, load=load / offered)
    specs = list(workload.specs())
    del first
    quotas, _ = quotas_of(workload, gpus)
    begin_s = time.process_time()
    schedule = run(specs, machines, policy_named(policy, {}), quotas=quotas)
    cpu_s = time.process_time() - begin_s
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Measured(policy, len(specs), schedule.events, cpu_s, peak_kb / 1024)


if __name__ == "__main__":
    for name in sys.argv[1:] or ("fifo", "philly", "srtf", "las"):
        m = measure(name)
        print(  # noqa: T201
            f"simulate {m.policy:8} {m.jobs:,} jobs: {m.cpu_s:6.1f} s, {m.events_per_s:8,.0f} "
            f"events/s, {m.peak_mb:,.0f} MB"
        )
