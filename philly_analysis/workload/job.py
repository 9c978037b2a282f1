"""One job to run: its requests, its attempts and their run times."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stay:
    """Where and when an attempt ran, as recorded.

    Attributes
    ----------
    start_s, end_s
        Seconds after the workload's origin.
    shares
        Share of each server: identifier, number of GPUs, and indices of the GPUs where known.
    guest
        Whether the attempt shared GPUs that were allocated to other jobs.
    """

    start_s: float
    end_s: float
    shares: tuple[tuple[str, int, tuple[int, ...]], ...]
    guest: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that were allocated to the attempt."""
        return sum(count for _, count, _ in self.shares)


@dataclass(frozen=True, slots=True)
class AttemptSpec:
    """One attempt of a job: its run time and its end reason (see study.END_REASONS).

    Attributes
    ----------
    stay
        Where and when the attempt ran, if requested (see ``Workload.specs``).
    failure
        Failure reason as in the study's Table 7, if requested (see
        :func:`philly_analysis.workload.with_failure_reasons`); None: the attempt did not fail, or
        the reason is not known.
    believed_s
        Estimated run time for schedulers that plan by estimates; None: the run time itself.
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
        Attempts of the job in order; the last attempt decides the status.
    gpu_frac
        Share of each GPU that the job requests, above 0 to 1.
    gpus_by_server
        GPUs on each server that the job requested, most first; empty: any servers.
    gpu_model
        GPU model that the job requested; None: any model.
    account, qos
        Account and quality of service that the job was submitted to; empty: not recorded.
    eligible_s
        Seconds after the workload's origin at which the job began to wait for resources only; None:
        at submission.
    util_frac, gpu_mem_frac
        Share of a GPU's compute and memory that the job uses, 0 to 1; None: not known.
    censored
        Whether the job was still running at the end of its log: the run time is a lower bound.
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
    gpus_by_server: tuple[int, ...] = ()
    gpu_model: str | None = None
    account: str = ""
    qos: str = ""
    eligible_s: float | None = None

    @property
    def run_s(self) -> float:
        """Seconds of service over all attempts."""
        return sum(a.run_s for a in self.attempts)

    @property
    def gpu_s(self) -> float:
        """GPU-seconds over all attempts."""
        return self.gpus * self.gpu_frac * self.run_s
