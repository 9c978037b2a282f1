"""Machines to run jobs on: a default server, several of them, or a fleet from a short text."""

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
        Number of slices into which each GPU may be cut for jobs that request a share of one;
        None: any share. Traces do not record it; what-ifs set it.
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
"""Attributes that are columns of the table of machines."""

SERVER = Machine("m0", gpus=8, cpus=24.0, mem_gb=500.0)
"""Default server: Synergy's (OSDI'22), 3 CPUs and 62.5 GB per GPU."""


def default_servers(gpus: int) -> tuple[Machine, ...]:
    """Return servers of 8 GPUs that have `gpus` in all; the last server may be smaller."""
    full_servers, last_gpus = divmod(gpus, SERVER.gpus)
    sizes = [SERVER.gpus] * full_servers + [last_gpus] * bool(last_gpus)
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


def machine_rows(machines: Sequence[Machine]) -> pl.DataFrame:
    """Return machines as rows of the table machines."""
    types = {"gpus": pl.Int32, "cpus": pl.Float64, "mem_gb": pl.Float64}
    schema = {name: types.get(name, pl.String) for name in RECORDED}
    rows = [[getattr(m, name) for name in RECORDED] for m in machines]
    return pl.DataFrame(rows, schema=schema, orient="row")


def machines_of(cluster: int | str | Sequence[Machine]) -> tuple[Machine, ...]:
    """Return the machines of a cluster.

    Parameters
    ----------
    cluster
        Number of GPUs in servers of 8, a text as in :func:`fleet`, or machines.

    Raises
    ------
    WorkloadError
        The number is below 1, or the text has another form.
    """
    if isinstance(cluster, str):
        return fleet(cluster)
    if not isinstance(cluster, int):
        return tuple(cluster)
    if cluster < 1:
        raise WorkloadError(f"a cluster needs at least 1 GPU, but {cluster} were requested.")
    return default_servers(cluster)


_PART = re.compile(
    r"(?P<count>\d+)x(?P<gpus>\d+)(/(?P<slices>[2-8]))?(:(?P<cpus>\d+(\.\d+)?):(?P<mem_gb>\d+(\.\d+)?))?"
    r"(@(?P<rack>\d+)(/(?P<pod>\d+))?)?(=(?P<model>[^,=]+))?"
)


def fleet(text: str) -> tuple[Machine, ...]:
    """Return the machines that a text describes.

    Parameters
    ----------
    text
        ``COUNTxGPUS``, several joined by commas: ``240x8,288x2``. Each part may add the number of
        slices of a GPU (``64x8/7``, NVIDIA's MIG; 2 to 8), CPUs and memory in GB (``16x8:24:500``),
        machines per rack (``240x8@40``) and racks per pod (``240x8@40/3``), and the GPU model
        (``240x8=V100``).

    Raises
    ------
    WorkloadError
        The text has another form.
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
        numbers = {k: float(v) for k, v in match.groupdict().items() if v and k != "model"}
        per_rack, per_pod = int(numbers.get("rack", 0)), int(numbers.get("pod", 0))
        alike = Machine(
            machine_id="",
            gpus=int(match["gpus"]),
            cpus=numbers.get("cpus"),
            mem_gb=numbers.get("mem_gb"),
            gpu_model=match["model"],
            slices=int(match["slices"]) if match["slices"] else None,
        )
        for i in range(int(match["count"])):
            rack = None
            if per_rack:
                racks += i % per_rack == 0
                pods += bool(per_pod) and i % (per_rack * per_pod) == 0
                rack = (f"p{pods - 1}/" if per_pod else "") + f"r{racks - 1}"
            machines.append(replace(alike, machine_id=f"m{len(machines)}", rack=rack))
    return tuple(machines)
