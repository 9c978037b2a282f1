"""Track fractional GPU allocations and MIG slices."""

from dataclasses import replace
from math import ceil

from philly_analysis.errors import SimulationError
from philly_analysis.workload import JobSpec

GPU_UNITS = 21_000
"""Units per GPU, in which fractions are counted: thousandths, thirds and sevenths add up."""

MIG_PROFILES = {4: (1, 2, 4), 7: (1, 2, 3, 4, 7)}
"""Sizes of MIG instances by the slices of a GPU: NVIDIA's profiles of the A30 (1g, 2g, 4g) and of
the A100 and its successors (1g, 2g, 3g, 4g, 7g). Other GPUs are allocated by one slice or whole."""

_ROUNDED = 0.04
"""Slices by which a request may exceed a profile: 0.29 of a GPU requests two slices of seven."""

Gpu = tuple[int, int]
"""Index of the machine in the cluster, and the bit of the GPU."""


def as_allocated(spec: JobSpec, slices: int | None) -> JobSpec:
    """Return a job with the allocated fraction of a GPU; a gang gets whole GPUs.

    On sliced GPUs the fraction is the smallest profile that covers the request. Profiles combine as
    on NVIDIA's GPUs, with one exception: next to 2g and 3g instances the seventh slice has no
    memory left, but is allocated here. Not modelled: the position of instances within a GPU, and
    that a GPU must be empty before its layout changes.

    Parameters
    ----------
    slices
        Slices of each GPU; None: arbitrary fractions, 1: whole GPUs only.
    """
    if spec.gpu_frac == 1:
        return spec
    if spec.gpus > 1:
        return replace(spec, gpu_frac=1.0)
    if slices is None:
        return replace(spec, gpu_frac=ceil(spec.gpu_frac * GPU_UNITS - 0.1) / GPU_UNITS)
    requested = spec.gpu_frac * slices - _ROUNDED
    profiles = MIG_PROFILES.get(slices, (1, slices))
    return replace(spec, gpu_frac=next(n for n in profiles if n >= requested) / slices)


class SharedGpus:
    """The free units of each GPU that is allocated in fractions.

    Attributes
    ----------
    left
        Free units by GPU.
    free_units
        Sum of the free units in `left`.
    """

    def __init__(self) -> None:
        self.left: dict[Gpu, int] = {}
        self.free_units = 0
        self._by_left: dict[int, dict[Gpu, None]] = {}
        self._before_trial: dict[Gpu, int] | None = None

    def best(self, size: int, among: int = -1) -> Gpu | None:
        """Return the fullest GPU with `size` free units, the first of several, or None.

        Parameters
        ----------
        among
            A bit per machine that may be used.
        """
        for free_units in sorted(free_units for free_units in self._by_left if free_units >= size):
            if there := [gpu for gpu in self._by_left[free_units] if among >> gpu[0] & 1]:
                return min(there)
        return None

    @property
    def largest_fit(self) -> int:
        """The most free units of any GPU."""
        return max(self._by_left, default=0)

    def add(self, gpu: Gpu, units: int) -> bool:
        """Change a GPU's free units; return whether the GPU was or is entirely free."""
        before = self.left.get(gpu, GPU_UNITS)
        after = before + units
        if not 0 <= after <= GPU_UNITS:
            raise SimulationError(
                f"{-units / GPU_UNITS:.3g} of a GPU was allocated, but only "
                f"{before / GPU_UNITS:.3g} is free."
            )
        if self._before_trial is not None:
            self._before_trial.setdefault(gpu, before)
        self._set_left(gpu, after)
        return GPU_UNITS in (before, after)

    def begin_trial(self) -> None:
        """Begin tentative changes, which :meth:`roll_back` undoes."""
        self._before_trial = {}

    def roll_back(self) -> None:
        """Undo all changes since :meth:`begin_trial`."""
        before, self._before_trial = self._before_trial, None
        for gpu, free_units in (before or {}).items():
            self._set_left(gpu, free_units)

    def _set_left(self, gpu: Gpu, free_units: int) -> None:
        if (before := self.left.pop(gpu, None)) is not None:
            self.free_units -= before
            del self._by_left[before][gpu]
            if not self._by_left[before]:
                del self._by_left[before]
        if free_units < GPU_UNITS:
            self.free_units += free_units
            self.left[gpu] = free_units
            self._by_left.setdefault(free_units, {})[gpu] = None
