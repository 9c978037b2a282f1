"""The machines to run jobs on: a server, servers by the number, a fleet from a short text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import polars as pl

from philly_analysis.errors import WorkloadError


@dataclass(frozen=True, slots=True)
class Machine:
    """A server to run jobs on.

    Attributes
    ----------
    slices
        Into how many slices each of its GPUs may be cut for jobs that ask for a share of one;
        None: a job may hold any share. No trace says so: it is asked of a what-if.
    """

    machine_id: str
    gpus: int
    cpus: float | None = None
    mem_gb: float | None = None
    gpu_model: str | None = None
    rack: str | None = None
    cluster: str | None = None
    pool: str | None = None
    slices: int | None = None


RECORDED = tuple(f.name for f in fields(Machine) if f.name != "slices")
"""What the table of machines says of each."""

SERVER = Machine("m0", gpus=8, cpus=24.0, mem_gb=500.0)
"""Server assumed where nothing better is known: Synergy's (OSDI'22), 3 CPUs, 62.5 GB a GPU."""


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


def frame_of(machines: Sequence[Machine]) -> pl.DataFrame:
    """Return machines as rows of the table of that name."""
    types = {"gpus": pl.Int32, "cpus": pl.Float64, "mem_gb": pl.Float64}
    schema = {name: types.get(name, pl.String) for name in RECORDED}
    rows = [[getattr(m, name) for name in RECORDED] for m in machines]
    return pl.DataFrame(rows, schema=schema, orient="row")


_PART = re.compile(
    r"(?P<count>\d+)x(?P<gpus>\d+)(/(?P<slices>[2-8]))?(:(?P<cpus>\d+(\.\d+)?):(?P<mem_gb>\d+(\.\d+)?))?"
    r"(@(?P<rack>\d+)(/(?P<pod>\d+))?)?(=(?P<model>[^,=]+))?"
)


def fleet(text: str) -> tuple[Machine, ...]:
    """Return the machines that a text describes.

    Parameters
    ----------
    text
        ``COUNTxGPUS``, several joined by commas: ``240x8,288x2``. Each may add into how many slices
        its GPUs are cut for jobs that ask for a share of one (``64x8/7``, NVIDIA's MIG; 2 to 8),
        CPUs and memory in GB (``16x8:24:500``), machines per rack (``240x8@40``) and racks per pod
        (``240x8@40/3``), and the model of their GPUs (``240x8=V100``).

    Raises
    ------
    WorkloadError
        The text does not read like this.
    """
    machines: list[Machine] = []
    racks = pods = 0
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if not match:
            raise WorkloadError(
                f"machines {text!r} cannot be read: {part!r} is not COUNTxGPUS, with /slices, "
                "CPUs:GB, @machines-per-rack/racks-per-pod and =model if wanted, e.g. 240x8,288x2 "
                "or 16x8:24:500@8=V100."
            )
        count, per_rack = int(match["count"]), int(match["rack"] or 0)
        per_pod = int(match["pod"] or 0)
        for i in range(count):
            if per_rack and i % per_rack == 0:
                racks += 1
            if per_rack and per_pod and i % (per_rack * per_pod) == 0:
                pods += 1
            machines.append(
                Machine(
                    machine_id=f"m{len(machines)}",
                    gpus=int(match["gpus"]),
                    cpus=float(match["cpus"]) if match["cpus"] else None,
                    mem_gb=float(match["mem_gb"]) if match["mem_gb"] else None,
                    rack=(f"p{pods - 1}/" if per_pod else "") + f"r{racks - 1}"
                    if per_rack
                    else None,
                    gpu_model=match["model"],
                    slices=int(match["slices"]) if match["slices"] else None,
                )
            )
    return tuple(machines)
