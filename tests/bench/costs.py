"""What a step cost, what steps cost together, and what each may."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What a step took: wall-clock and CPU seconds, and peak memory of its process."""

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
"""By name of a sum: the first words of the steps it adds up, and how many times the scan they may
take together.

``page`` is the first report on a new trace, which also joins samples with attempts; ``join`` and
``report`` take these apart.
"""


def totals(costs: list[Cost]) -> list[Cost]:
    """Add up the steps of each aim, where all were run: time adds, memory is the largest."""
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
