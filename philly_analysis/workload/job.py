"""One job to run: what it asks for, and what it does once it has its GPUs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stay:
    """Where and when an attempt ran, as recorded.

    Attributes
    ----------
    start_s, end_s
        Seconds after the workload's origin.
    shares
        Of each server: its identifier, how many of its GPUs, and their indices where known.
    guest
        Whether it ran beside the holders of its GPUs.
    """

    start_s: float
    end_s: float
    shares: tuple[tuple[str, int, tuple[int, ...]], ...]
    guest: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that it held."""
        return sum(count for _, count, _ in self.shares)


@dataclass(frozen=True, slots=True)
class AttemptSpec:
    """One attempt of a job: how long it runs, and how it then ends (see study.END_REASONS).

    Attributes
    ----------
    stay
        Where and when it ran, for those who ask (see ``Workload.specs``).
    failure
        Why it failed, in the words of the study's Table 7, for those who ask (see
        :func:`philly_analysis.workload.failure_reasons.with_failures`); None: it did not, or nobody
        knows.
    believed_s
        How long it is believed to run, for those who plan by that; None: as long as it does.
    """

    run_s: float
    end_reason: str | None = None
    stay: Stay | None = None
    failure: str | None = None
    believed_s: float | None = None


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
    util_frac, gpu_mem_frac
        Share of a GPU's compute and memory that it uses, 0 to 1; None: not known.
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
    util_frac: float | None = None
    gpu_mem_frac: float | None = None

    @property
    def run_s(self) -> float:
        """Seconds of service that it needs in all."""
        return sum(a.run_s for a in self.attempts)

    @property
    def gpu_s(self) -> float:
        """GPU-seconds that it needs in all."""
        return self.gpus * self.gpu_frac * self.run_s
