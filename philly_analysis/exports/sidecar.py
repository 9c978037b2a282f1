"""The side-car of an export: what was written, left out and assumed."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote, and what a reader of its numbers must know.

    Attributes
    ----------
    file
        The file, or the folder of a format of several files.
    jobs
        Jobs in it.
    left_out
        Jobs of the workload that are not in it, by reason.
    account
        Sentences: which of the workload's jobs and GPU hours it is made of, and which not.
    lost, assumed
        Sentences: what the format cannot carry, and what it wants that the workload lacks.
    sources
        Where assumed numbers come from.
    run_policy
        How attempts became a run time: ``span``, ``sum`` or ``last``.
    cluster_gpus, offered_load
        GPUs of the target cluster, and GPU-seconds asked for / (GPUs x seconds from first to
        last submission), of the jobs that the reader takes; None where it cannot be told.
    arrivals_stretched
        Factor on the time between submissions; 1: as in the workload.
    """

    workload: str
    synthetic: bool
    format: str
    dialect: str
    file: str
    jobs: int
    left_out: dict[str, int]
    account: tuple[str, ...]
    lost: tuple[str, ...]
    assumed: tuple[str, ...]
    sources: tuple[str, ...]
    seed: int
    run_policy: str
    cluster_gpus: int
    offered_load: float | None
    arrivals_stretched: float
    notes: tuple[str, ...]
    made_at: str
    made_by: str

    def to_json(self) -> str:
        """Return it as JSON text, as the side-car holds it."""
        return json.dumps(asdict(self), indent=2) + "\n"

    def __str__(self) -> str:
        """Return it as lines for a terminal."""
        load = "not defined" if self.offered_load is None else f"{self.offered_load:.2f}"
        lines = [
            f"{self.jobs:,} jobs of {self.workload} in {self.file} ({self.format}, {self.dialect})",
            f"offered load {load} on {self.cluster_gpus:,} GPUs; run time of a job: "
            f"{self.run_policy} of its attempts; seed {self.seed}",
        ]
        for head, sentences in (
            ("account", self.account),
            ("not carried", self.lost),
            ("assumed", self.assumed),
            ("source", self.sources),
        ):
            lines += [f"{head}: {s}" for s in sentences]
        return "\n".join(lines)
