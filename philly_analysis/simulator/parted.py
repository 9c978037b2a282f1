"""GPUs that jobs hold shares of, in thousandths: no share spans two, none is given twice."""

from philly_analysis.errors import SimulationError

WHOLE = 1000
"""Thousandths of a GPU, in which shares are counted so that they add up exactly."""

Gpu = tuple[int, int]
"""Index of the machine in the cluster, and the bit of the GPU."""


class Parted:
    """What is left of each GPU of which anybody holds a share.

    Attributes
    ----------
    left
        Thousandths that nobody holds, by GPU.
    """

    __slots__ = ("_by_left", "_tried", "left")

    def __init__(self) -> None:
        self.left: dict[Gpu, int] = {}
        self._by_left: dict[int, dict[Gpu, None]] = {}
        self._tried: dict[Gpu, int] | None = None

    def best(self, milli: int) -> Gpu | None:
        """Return the fullest GPU that has so much left, the first of several; None: none has."""
        enough = min((left for left in self._by_left if left >= milli), default=None)
        return None if enough is None else min(self._by_left[enough])

    def add(self, gpu: Gpu, milli: int) -> bool:
        """Take (below zero) or give thousandths; whether the GPU was or becomes whole by it."""
        before = self.left.get(gpu, WHOLE)
        after = before + milli
        if not 0 <= after <= WHOLE:
            raise SimulationError(
                f"{-milli} thousandths of a GPU were granted, {before} were left."
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
            del self._by_left[before][gpu]
            if not self._by_left[before]:
                del self._by_left[before]
        if left < WHOLE:
            self.left[gpu] = left
            self._by_left.setdefault(left, {})[gpu] = None
