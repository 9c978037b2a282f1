"""Draw outages of machines and GPUs at failure rates, or read them from a file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.jobs.job import FOREVER
from philly_analysis.workload import Machine


class Outage(NamedTuple):
    """An outage of a machine or GPU; times are on the clock of ``JobSpec.submit_s``.

    Attributes
    ----------
    start_s, end_s
        Time of the failure and of the repair; infinite: never repaired.
    gpu
        Index of the GPU; None: the whole machine.
    """

    start_s: float
    end_s: float
    machine_id: str
    gpu: int | None = None


@dataclass(frozen=True, slots=True)
class Failures:
    """Mean times to failure and to repair of machines and GPUs.

    Both times are exponential: failures occur at a constant rate, whether or not a job runs.
    Failures do not depend on the policy: two policies with the same seed have the same outages.

    Attributes
    ----------
    machine_s, gpu_s
        Mean time of a machine, and of a single GPU, from a repair to the next failure (s).
    machine_repair_s, gpu_repair_s
        Mean time to repair a machine, and a single GPU (s).

    Raises
    ------
    SimulationError
        A time is not above 0, or a repair is infinite.
    """

    machine_s: float = FOREVER
    machine_repair_s: float = 14_400.0
    gpu_s: float = FOREVER
    gpu_repair_s: float = 86_400.0

    def __post_init__(self) -> None:
        for what, between_s, repair_s in (
            ("machine", self.machine_s, self.machine_repair_s),
            ("GPU", self.gpu_s, self.gpu_repair_s),
        ):
            if not between_s > 0 or not 0 < repair_s < FOREVER:
                raise SimulationError(
                    f"{what} failures every {between_s:g} s with repairs of {repair_s:g} s are "
                    "impossible; give times above 0, e.g. machine:2.6e6:14400."
                )

    def drawn(self, machines: Sequence[Machine], rng: np.random.Generator) -> Iterator[Outage]:
        """Yield outages in the order of their start, without end.

        Failures occur at the total rate of all parts. A failure hits each machine, or each GPU,
        with equal probability. A failure that hits a failed part is skipped.
        """
        wholes: list[tuple[int, int | None]] = [(m, None) for m in range(len(machines))]
        gpus = [(m, gpu) for m, machine in enumerate(machines) for gpu in range(machine.gpus)]
        rates = len(wholes) / self.machine_s, len(gpus) / self.gpu_s
        back_s: dict[tuple[int, int | None], float] = {}
        now_s = 0.0
        while total := sum(rates):
            now_s += rng.exponential(1 / total)
            whole = rng.random() * total < rates[0]
            parts = wholes if whole else gpus
            machine, gpu = parts[rng.integers(len(parts))]
            until_s = now_s + rng.exponential(self.machine_repair_s if whole else self.gpu_repair_s)
            if max(back_s.get((machine, None), 0.0), back_s.get((machine, gpu), 0.0)) <= now_s:
                back_s[machine, gpu] = until_s
                yield Outage(now_s, until_s, machines[machine].machine_id, gpu)


def outages_of(
    source: "Failures | Iterable[Outage] | str | Path",
    machines: Sequence[Machine],
    origin_at: datetime | None,
    rng: np.random.Generator,
) -> Iterable[Outage]:
    """Return the outages of some machines, in the order of their start.

    Parameters
    ----------
    source
        Rates, as :class:`Failures` or as a text such as ``machine:2.6e6:14400,gpu:3e7:86400``
        (part, mean seconds to failure, mean seconds to repair); or the outages themselves; or a CSV
        or Parquet file of outages with columns machine_id, gpu (null or without the column: the
        whole machine), started_at and ended_at (UTC; null: permanent). A what-if with outages
        writes this file.
    origin_at
        Date of time 0; None: without jobs there are no outages.
    """
    if origin_at is None:
        return ()
    if isinstance(source, (str, Path)):
        is_file = isinstance(source, Path) or Path(source).suffix in (".csv", ".parquet")
        source = _read(Path(source), origin_at) if is_file else _parse(str(source))
    if isinstance(source, Failures):
        return source.drawn(machines, rng)
    ids = {m.machine_id for m in machines}
    ours = (outage for outage in source if outage.machine_id in ids)
    return sorted(ours, key=lambda outage: outage.start_s)


def _parse(text: str) -> Failures:
    rates: dict[str, float] = {}
    try:
        for part in text.split(","):
            what, between_s, repair_s = part.split(":")
            if what not in ("machine", "gpu"):
                raise ValueError(what)
            rates |= {f"{what}_s": float(between_s), f"{what}_repair_s": float(repair_s)}
    except ValueError as error:
        raise SimulationError(
            f"outages {text!r} are neither a file nor rates; give a CSV or Parquet file, or "
            "machine:SECONDS:REPAIR_SECONDS, gpu:SECONDS:REPAIR_SECONDS, or both with a comma."
        ) from error
    return Failures(**rates)


def _read(path: Path, origin_at: datetime) -> list[Outage]:
    try:
        if path.suffix == ".csv":
            frame = pl.read_csv(path, try_parse_dates=True)
        else:
            frame = pl.read_parquet(path)
        if "gpu" not in frame.columns:
            frame = frame.with_columns(gpu=pl.lit(None, pl.Int32))
        times = [
            ((pl.col(c).cast(pl.Datetime("us")) - origin_at).dt.total_microseconds() / 1e6)
            for c in ("started_at", "ended_at")
        ]
        rows = frame.select(*times, pl.col("machine_id").cast(pl.String), "gpu").rows()
    except (OSError, PolarsError) as error:
        raise SimulationError(
            f"{path} is not a table of outages: {error}. Give columns machine_id, started_at, "
            "ended_at (null: permanent), and gpu for outages of single GPUs."
        ) from error
    return [
        Outage(start_s, FOREVER if end_s is None else end_s, *at) for start_s, end_s, *at in rows
    ]
