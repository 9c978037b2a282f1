"""Machines and GPUs that fail and are repaired: drawn from rates, or as a table tells."""

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
    """A machine, or one of its GPUs, out of use; times are those of ``JobSpec.submit_s``.

    Attributes
    ----------
    start_s, end_s
        When it fails and when it is back; infinite: never.
    gpu
        Index of the GPU; None: the machine with all of them.
    """

    start_s: float
    end_s: float
    machine_id: str
    gpu: int | None = None


@dataclass(frozen=True, slots=True)
class Failures:
    """How often machines and GPUs fail, and how long until they are repaired, on average.

    Failures come by chance alone, at the same rate at any age and whether or not a job is there
    (exponential times); so do ends of repairs. What fails does not depend on the policy, so two
    policies with the same seed meet the same failures.

    Attributes
    ----------
    machine_s, gpu_s
        Mean time of a machine, and of a single GPU, from a repair to the next failure (s).
    machine_repair_s, gpu_repair_s
        Mean time that its repair takes (s).

    Raises
    ------
    SimulationError
        One of them is not above 0, or a repair never ends.
    """

    machine_s: float = FOREVER
    machine_repair_s: float = 14_400.0
    gpu_s: float = FOREVER
    gpu_repair_s: float = 86_400.0

    def __post_init__(self) -> None:
        for what, between_s, repair_s in self._parts():
            if not between_s > 0 or not 0 < repair_s < FOREVER:
                raise SimulationError(
                    f"a {what} that fails every {between_s:g} s and is repaired in {repair_s:g} s "
                    "was asked for; give times above 0, e.g. machine:2.6e6:14400."
                )

    @property
    def says(self) -> str:
        """How often what fails, in a sentence."""
        each = [
            f"{what}s every {between_s:,.0f} s each, repaired in {repair_s:,.0f} s"
            for what, between_s, repair_s in self._parts()
            if between_s < FOREVER
        ]
        return f"By chance fail, on average, {' and '.join(each)}." if each else ""

    def drawn(self, machines: Sequence[Machine], rng: np.random.Generator) -> Iterator[Outage]:
        """Yield outages in the order of their beginning, for ever.

        Failures of all that are up come at their rates added up, and each hits any of them with
        the same chance; one that hits what is down already is none.
        """
        gpus = [(m, gpu) for m, machine in enumerate(machines) for gpu in range(machine.gpus)]
        rates = len(machines) / self.machine_s, len(gpus) / self.gpu_s
        back_s: dict[tuple[int, int | None], float] = {}
        now_s = 0.0
        while total := sum(rates):
            now_s += rng.exponential(1 / total)
            whole = rng.random() * total < rates[0]
            machine, gpu = (
                (int(rng.integers(len(machines))), None)
                if whole
                else (gpus[rng.integers(len(gpus))])
            )
            until_s = now_s + rng.exponential(self.machine_repair_s if whole else self.gpu_repair_s)
            if max(back_s.get((machine, None), 0.0), back_s.get((machine, gpu), 0.0)) <= now_s:
                back_s[machine, gpu] = until_s
                yield Outage(now_s, until_s, machines[machine].machine_id, gpu)

    def _parts(self) -> tuple[tuple[str, float, float], ...]:
        return (
            ("machine", self.machine_s, self.machine_repair_s),
            ("GPU", self.gpu_s, self.gpu_repair_s),
        )


def outages_of(
    told: "Failures | Iterable[Outage] | str | Path",
    machines: Sequence[Machine],
    origin_at: datetime | None,
    rng: np.random.Generator,
) -> Iterable[Outage]:
    """Return what fails on some machines, in the order of its beginning.

    Parameters
    ----------
    told
        Rates, as :class:`Failures` or as a text such as ``machine:2.6e6:14400,gpu:3e7:86400``
        (what fails, mean seconds between failures of one, mean seconds until it is repaired);
        or the outages themselves, or a file of them: CSV or Parquet with columns machine_id,
        gpu (null, or no such column: all of the machine), started_at and ended_at (UTC; null: it
        lasts). A what-if with outages writes such a file itself.
    origin_at
        The moment from which seconds count; None where there are no jobs: nothing fails.
    """
    if origin_at is None:
        return ()
    if isinstance(told, (str, Path)):
        is_file = isinstance(told, Path) or Path(told).suffix in (".csv", ".parquet")
        told = _read(Path(told), origin_at) if is_file else _failures(str(told))
    if isinstance(told, Failures):
        return told.drawn(machines, rng)
    here = {m.machine_id for m in machines}
    ours = (outage for outage in told if outage.machine_id in here)
    return sorted(ours, key=lambda outage: outage.start_s)


def _failures(text: str) -> Failures:
    """Return the rates that a text names."""
    rates: dict[str, float] = {}
    try:
        for part in text.split(","):
            what, between_s, repair_s = part.split(":")
            if what not in ("machine", "gpu"):
                raise ValueError(what)
            rates |= {f"{what}_s": float(between_s), f"{what}_repair_s": float(repair_s)}
    except ValueError as error:
        raise SimulationError(
            f"outages {text!r} were asked for; give a CSV or Parquet file of them, or rates: "
            "machine:SECONDS:REPAIR_SECONDS, gpu:SECONDS:REPAIR_SECONDS, or both with a comma."
        ) from error
    return Failures(**rates)


def _read(path: Path, origin_at: datetime) -> list[Outage]:
    """Return the outages of a file."""
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
            f"{path} is no table of outages: {error}. Give columns machine_id, started_at, "
            "ended_at (null: it lasts), and gpu where it is not all of a machine."
        ) from error
    return [
        Outage(start_s, FOREVER if end_s is None else end_s, *at) for start_s, end_s, *at in rows
    ]
