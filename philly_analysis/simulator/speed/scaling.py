"""How fast a model trains on more GPUs, or fewer: a table of measurements."""

import csv
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import ceil

import numpy as np

USERS_EFFICIENCY = 0.5
"""Share of perfect scaling above which a user asks for so many GPUs: Pollux' own rule for jobs
that are well tuned (``get_configurations`` of its simulator)."""


@dataclass(frozen=True)
class Scaling:
    """Measured seconds a step of one model, by GPUs and samples a GPU.

    A job's batch stays as it was on the GPUs that it asked for, each as full as was measured on
    one: on more GPUs each gets fewer samples, on fewer it takes several turns before they meet.

    Attributes
    ----------
    steps
        By GPUs: samples a GPU, ascending, and at each the seconds of a step and, of these, of
        waiting for the others.
    """

    job_type: str
    steps: Mapping[int, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]]

    @property
    def full(self) -> float:
        """Samples that fill one GPU."""
        return self.steps[1][0][-1]

    @property
    def fewest(self) -> float:
        """Samples a GPU below which nothing was measured."""
        return self.steps[1][0][0]

    def most(self, asked: int) -> int:
        """Return the most GPUs that a job can use which asked for so many."""
        return max(asked, min(int(asked * self.full / self.fewest), max(self.steps)))

    def step_s(self, gpus: int, batch: float) -> float:
        """Return the seconds of a step of a whole batch: linear between what was measured."""
        counts = sorted(self.steps)
        at = bisect_left(counts, gpus)
        if at == len(counts) or counts[at] == gpus:
            return self._measured_s(counts[min(at, len(counts) - 1)], batch)
        below, above = counts[at - 1], counts[at]
        part = (gpus - below) / (above - below)
        return (1 - part) * self._measured_s(below, batch) + part * self._measured_s(above, batch)

    def _measured_s(self, gpus: int, batch: float) -> float:
        samples, step_s, sync_s = self.steps[gpus]
        turns = ceil(batch / gpus / samples[-1] - 1e-9)
        each = batch / gpus / turns
        step, sync = (float(np.interp(each, samples, of)) for of in (step_s, sync_s))
        return step + (turns - 1) * max(step - sync, 0.0)

    def speed(self, gpus: int, asked: int) -> float:
        """Return the speed on so many GPUs, relative to that on those asked for."""
        return self.speed_up(gpus, asked) / self.speed_up(asked, asked)

    def speed_up(self, gpus: int, asked: int) -> float:
        """Return the speed on so many GPUs of a job that asked for others, relative to one GPU."""
        return _speed_up(self.job_type, gpus, asked)


def _read() -> dict[str, Scaling]:
    text = files("philly_analysis.simulator.speed").joinpath("scaling.csv").read_text("utf-8")
    rows: dict[str, dict[int, list[tuple[float, float, float]]]] = {}
    for row in csv.DictReader(text.splitlines()):
        of_model = rows.setdefault(row["job_type"], {})
        measured = float(row["local_batch"]), float(row["step_s"]), float(row["sync_s"])
        of_model.setdefault(int(row["gpus"]), []).append(measured)
    return {
        model: Scaling(
            model,
            {gpus: tuple(zip(*sorted(found), strict=True)) for gpus, found in own.items()},  # type: ignore[misc]
        )
        for model, own in rows.items()
    }


SCALING = _read()
"""Five models on servers of 4 T4 GPUs, gangs on the fewest servers: measurements of Pollux
(OSDI'21), ``simulator/traces`` of petuum/adaptdl at c793c70 (Apache-2.0), those at the samples
that most GPU counts share. Its ncf is left out: few of its batches fit on several GPUs."""


@cache
def _speed_up(model: str, gpus: int, asked: int) -> float:
    scaling = SCALING[model]
    batch = asked * scaling.full
    return scaling.step_s(1, batch) / scaling.step_s(gpus, batch)


@cache
def well_tuned(asked: int) -> tuple[str, ...]:
    """Return the models of which a user would ask for so many GPUs; the one best at it, if none."""
    share = {model: _speed_up(model, asked, asked) / asked for model in SCALING}
    good = tuple(model for model, of in share.items() if of >= USERS_EFFICIENCY)
    return good or (max(share, key=lambda model: share[model]),)
