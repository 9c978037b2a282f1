"""Compute a model's speed-up by the number of GPUs from a table of measurements."""

import csv
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import ceil

import numpy as np

USERS_EFFICIENCY = 0.5
"""Least scaling efficiency at which a user requests a number of GPUs: Pollux' rule for well-tuned
jobs (``get_configurations`` of Pollux' simulator)."""


@dataclass(frozen=True)
class Scaling:
    """Measured seconds per step of one model, by GPUs and samples per GPU.

    A job's batch fills the GPUs that the job requests: each processes the largest number of samples
    that was measured. On more GPUs, each GPU processes fewer samples of that batch. On fewer GPUs,
    each GPU makes several passes before the GPUs synchronise.

    Attributes
    ----------
    steps
        Rows by number of GPUs: samples per GPU (ascending), seconds of a step, and seconds of
        synchronisation within the step.
    """

    job_type: str
    steps: Mapping[int, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]]

    @property
    def full(self) -> float:
        """Samples that fill one GPU."""
        return self.steps[1][0][-1]

    def most(self, requested: int) -> int:
        """Return the most GPUs that a job can use: each computes a measured number of samples."""
        fewest, *_, full = self.steps[1][0]
        return max(requested, min(int(requested * full / fewest), max(self.steps)))

    def step_s(self, gpus: int, batch: float) -> float:
        """Return the seconds of a step of a whole batch: linear between measurements."""
        counts = sorted(self.steps)
        at = bisect_left(counts, gpus)
        if at == len(counts) or counts[at] == gpus:
            return self._measured_s(counts[min(at, len(counts) - 1)], batch)
        below, above = counts[at - 1], counts[at]
        part = (gpus - below) / (above - below)
        return (1 - part) * self._measured_s(below, batch) + part * self._measured_s(above, batch)

    def _measured_s(self, gpus: int, batch: float) -> float:
        samples, step_s, sync_s = self.steps[gpus]
        passes = ceil(batch / gpus / samples[-1] - 1e-9)
        pass_samples = batch / gpus / passes
        step, sync = (float(np.interp(pass_samples, samples, of)) for of in (step_s, sync_s))
        return step + (passes - 1) * max(step - sync, 0.0)

    def speed(self, gpus: int, requested: int) -> float:
        """Return the speed on some GPUs, relative to the speed on the requested GPUs."""
        return self.speed_up(gpus, requested) / self.speed_up(requested, requested)

    def speed_up(self, gpus: int, requested: int) -> float:
        """Return the speed on some GPUs, relative to the speed on one GPU."""
        return _speed_up(self.job_type, gpus, requested)


def _read() -> dict[str, Scaling]:
    text = files(__package__).joinpath("scaling.csv").read_text("utf-8")
    rows: dict[str, dict[int, list[tuple[float, float, float]]]] = {}
    for row in csv.DictReader(text.splitlines()):
        of_model = rows.setdefault(row["job_type"], {})
        measured = float(row["local_batch"]), float(row["step_s"]), float(row["sync_s"])
        of_model.setdefault(int(row["gpus"]), []).append(measured)
    return {
        model: Scaling(
            model,
            {gpus: tuple(zip(*sorted(steps), strict=True)) for gpus, steps in sizes.items()},  # type: ignore[misc]
        )
        for model, sizes in rows.items()
    }


SCALING = _read()
"""Five models on servers of 4 T4 GPUs, gangs on the fewest servers: measurements of Pollux
(OSDI'21), ``simulator/traces`` of petuum/adaptdl at c793c70 (Apache-2.0), at the numbers of samples
that most GPU counts share. Pollux' ncf is excluded: few batches of ncf fit on several GPUs."""


@cache
def _speed_up(model: str, gpus: int, requested: int) -> float:
    scaling = SCALING[model]
    batch = requested * scaling.full
    return scaling.step_s(1, batch) / scaling.step_s(gpus, batch)


@cache
def well_tuned(requested: int) -> tuple[str, ...]:
    """Return the models that use so many GPUs efficiently; if none does, the most efficient one."""
    share = {model: _speed_up(model, requested, requested) / requested for model in SCALING}
    good = tuple(model for model, of in share.items() if of >= USERS_EFFICIENCY)
    return good or (max(share, key=lambda model: share[model]),)
