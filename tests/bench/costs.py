"""Costs of the benchmark's steps, and sums of costs with their limits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall-clock and CPU seconds of a step, and the peak memory of its process."""

    step: str
    wall_s: float
    cpu_s: float
    peak_mb: float


AIMS: dict[str, tuple[frozenset[str], float]] = {
    "ingest": (frozenset({"ingest"}), 3),
    "joins": (frozenset({"join"}), 1),
    "report": (frozenset({"report"}), 1),
    "raw files to page": (frozenset({"ingest", "page"}), 5),
}
"""By name of a sum: the first words of its steps' names, and its limit as a multiple of the scan.

``page`` is the first report on a new trace, including the joins of samples with attempts.
``join`` and ``report`` measure the two separately.
"""


def totals(costs: list[Cost]) -> list[Cost]:
    """Sum the steps of each aim if all of them ran: times add up, memory is the maximum."""
    sums = []
    for name, (words, _) in AIMS.items():
        parts = [c for c in costs if c.step.split()[0] in words]
        if {c.step.split()[0] for c in parts} == words:
            sums.append(
                Cost(
                    name,
                    sum(c.wall_s for c in parts),
                    sum(c.cpu_s for c in parts),
                    max(c.peak_mb for c in parts),
                )
            )
    return sums
