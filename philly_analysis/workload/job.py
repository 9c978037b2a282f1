"""One job to run: what it asks for, and what it does once it has its GPUs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AttemptSpec:
    """One attempt of a job: how long it runs, and how it then ends (see study.END_REASONS)."""

    run_s: float
    end_reason: str | None = None


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job to run.

    Attributes
    ----------
    submit_s
        Seconds after the workload's origin.
    attempts
        What happens to it, attempt after attempt; the last one decides the status.
    gpu_frac
        Share of each GPU that it asks for, above 0 to 1.
    censored
        True when it still ran as its log ended: it runs for at least as long as is known.
    """

    job_id: str
    vc: str
    user: str
    gpus: int
    submit_s: float
    attempts: tuple[AttemptSpec, ...]
    status: str | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    job_type: str | None = None
    time_limit_s: float | None = None
    censored: bool = False
    gpu_frac: float = 1.0

    @property
    def run_s(self) -> float:
        """Seconds of service that it needs in all."""
        return sum(a.run_s for a in self.attempts)

    @property
    def gpu_s(self) -> float:
        """GPU-seconds that it needs in all."""
        return self.gpus * self.gpu_frac * self.run_s
