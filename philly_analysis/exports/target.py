"""The cluster that jobs are meant for, the load they offer it, and arrivals that meet a load."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.demand import Demand
from philly_analysis.workload import Machine, Workload

SERVER = Machine("m0", gpus=8, cpus=24.0, mem_gb=500.0)
"""Server assumed where nothing better is known: Synergy's (OSDI'22), 3 CPUs, 62.5 GB a GPU."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machines that the jobs are meant for.

    Attributes
    ----------
    assumed
        True when nobody said which machines: they were made up.
    """

    machines: tuple[Machine, ...]
    assumed: bool

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return sum(m.gpus for m in self.machines)

    @property
    def server(self) -> Machine:
        """Its most frequent server with GPUs, CPU and memory filled in from SERVER, per GPU."""
        shapes = [replace(m, machine_id="", rack=None) for m in self.machines if m.gpus]
        common = max(shapes, key=lambda s: (shapes.count(s), s.gpus), default=SERVER)
        share = common.gpus / SERVER.gpus
        return replace(
            common,
            cpus=common.cpus or share * (SERVER.cpus or 0),
            mem_gb=common.mem_gb or share * (SERVER.mem_gb or 0),
        )


def servers(gpus: int) -> tuple[Machine, ...]:
    """Return servers of 8 GPUs, the last one smaller where `gpus` asks for it."""
    full, rest = divmod(gpus, SERVER.gpus)
    sizes = [SERVER.gpus] * full + [rest] * bool(rest)
    return tuple(
        replace(
            SERVER,
            machine_id=f"m{i}",
            gpus=n,
            cpus=(SERVER.cpus or 0) * n / SERVER.gpus,
            mem_gb=(SERVER.mem_gb or 0) * n / SERVER.gpus,
        )
        for i, n in enumerate(sizes)
    )


def cluster(
    workload: Workload,
    needs: Demand | None,
    *,
    gpus: int | None = None,
    machines: Sequence[Machine] | None = None,
) -> Cluster:
    """Return the target cluster: as given, else the workload's own, else one that is assumed.

    The assumed one has servers of 8 GPUs, enough for the largest gang and for an offered load
    of at most 1.
    """
    if machines is not None:
        return Cluster(tuple(machines), assumed=False)
    if gpus is not None:
        if gpus < 1:
            raise ExportError(f"a cluster of {gpus} GPUs was asked for; give at least 1.")
        return Cluster(servers(gpus), assumed=False)
    own = tuple(m for m in workload.servers() if m.gpus) if workload.machines.height else ()
    if own:
        return Cluster(own, assumed=False)
    if needs is None:
        return Cluster(servers(SERVER.gpus), assumed=True)
    busy = needs.gpu_s / needs.span_s if needs.span_s else 0.0
    enough = max(int(needs.jobs["gpus"].max() or 1), busy)  # type: ignore[arg-type]
    return Cluster(servers(-(-int(enough + 1) // SERVER.gpus) * SERVER.gpus), assumed=True)


def offered_load(needs: Demand, gpus: int) -> float | None:
    """Return GPU-seconds asked for / (GPUs x seconds of submissions); None without a span."""
    return needs.gpu_s / (gpus * needs.span_s) if needs.span_s and gpus else None


def stretch(workload: Workload, factor: float) -> Workload:
    """Return the workload with its submissions `factor` times as far apart.

    Attempts move with their jobs, so waits and run times stay. Recorded placements and samples
    no longer fit and are dropped.
    """
    origin = pl.lit(workload.origin_at, pl.Datetime("us"))
    shift = ((pl.col("submitted_at") - origin).dt.total_microseconds() * (factor - 1)).round()
    jobs = workload.jobs.with_columns(shift=pl.duration(microseconds=shift.cast(pl.Int64)))
    attempts = workload.attempts.join(
        jobs.select("job_id", "shift"), on="job_id", how="left", maintain_order="left"
    )
    times = ("submitted_at", "eligible_at")
    return replace(
        workload,
        jobs=jobs.with_columns(pl.col(times) + pl.col("shift")).drop("shift"),
        attempts=attempts.with_columns(pl.col("started_at", "ended_at") + pl.col("shift")).drop(
            "shift"
        ),
        placements=workload.placements.clear(),
        trace=None,
    )
