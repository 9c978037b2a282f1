"""GPUs that jobs hold shares of: no share spans two, none is given twice; MIG's slices of them."""

from dataclasses import replace
from math import ceil

from philly_analysis.errors import SimulationError
from philly_analysis.workload import JobSpec

WHOLE = 21_000
"""Parts of a GPU, in which shares are counted so that thousandths, thirds and sevenths add up."""

PROFILES = {4: (1, 2, 4), 7: (1, 2, 3, 4, 7)}
"""Slices that one instance may have, of GPUs cut into so many: NVIDIA's MIG profiles of the A30
(1g, 2g, 4g) and of the A100 and its successors (1g, 2g, 3g, 4g, 7g). A GPU that is cut into
another number of instances gives one of them, or all."""

_ROUNDED = 0.04
"""Slices by which a share may exceed a profile that it names: 0.29 means two of seven."""

Gpu = tuple[int, int]
"""Index of the machine in the cluster, and the bit of the GPU."""


def as_held(spec: JobSpec, slices: int | None) -> JobSpec:
    """Return a job that asks for a share of a GPU with what it is to hold; a gang holds all.

    On GPUs that are cut into slices that is the smallest profile that has its share. Of NVIDIA's
    GPUs this says which instances may be together, but for one case: beside two of three slices
    the seventh has no memory left, and is given here. That a running instance may lie where it is
    in the way of a larger one, and that a GPU must be empty to be cut anew, is not modelled.

    Parameters
    ----------
    slices
        Into how many the GPUs are cut; None: into any shares, 1: into none.
    """
    if spec.gpu_frac == 1:
        return spec
    if spec.gpus > 1:
        return replace(spec, gpu_frac=1.0)
    if slices is None:
        return replace(spec, gpu_frac=ceil(spec.gpu_frac * WHOLE - 0.1) / WHOLE)
    wanted = spec.gpu_frac * slices - _ROUNDED
    profiles = PROFILES.get(slices, (1, slices))
    return replace(spec, gpu_frac=next(n for n in profiles if n >= wanted) / slices)


class Parted:
    """What is left of each GPU of which anybody holds a share.

    Attributes
    ----------
    left
        Parts that nobody holds, by GPU.
    room
        Parts that nobody holds, of all these together.
    """

    __slots__ = ("_by_left", "_tried", "left", "room")

    def __init__(self) -> None:
        self.left: dict[Gpu, int] = {}
        self.room = 0
        self._by_left: dict[int, dict[Gpu, None]] = {}
        self._tried: dict[Gpu, int] | None = None

    def best(self, size: int, among: int = -1) -> Gpu | None:
        """Return the fullest GPU that has so much left, the first of several; None: none has.

        Parameters
        ----------
        among
            A bit per machine that may be used.
        """
        for left in sorted(left for left in self._by_left if left >= size):
            if there := [gpu for gpu in self._by_left[left] if among >> gpu[0] & 1]:
                return min(there)
        return None

    @property
    def widest(self) -> int:
        """The most that is left of any."""
        return max(self._by_left, default=0)

    def add(self, gpu: Gpu, size: int) -> bool:
        """Take (below zero) or give parts; whether the GPU was or becomes whole by it."""
        before = self.left.get(gpu, WHOLE)
        after = before + size
        if not 0 <= after <= WHOLE:
            raise SimulationError(
                f"{-size / WHOLE:.3g} of a GPU were granted, {before / WHOLE:.3g} were left."
            )
        if self._tried is not None:
            self._tried.setdefault(gpu, before)
        self._set(gpu, after)
        return WHOLE in (before, after)

    def attempt(self) -> None:
        """Begin to try things."""
        self._tried = {}

    def restore(self) -> None:
        """End what was tried: all is as it was."""
        tried, self._tried = self._tried, None
        for gpu, left in (tried or {}).items():
            self._set(gpu, left)

    def _set(self, gpu: Gpu, left: int) -> None:
        if (before := self.left.pop(gpu, None)) is not None:
            self.room -= before
            del self._by_left[before][gpu]
            if not self._by_left[before]:
                del self._by_left[before]
        if left < WHOLE:
            self.room += left
            self.left[gpu] = left
            self._by_left.setdefault(left, {})[gpu] = None
