"""What papers and repositories print of other clusters' claims of the atlas: numbers alone."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A number that authors printed, in the unit of the claim.

    Attributes
    ----------
    source, place
        Paper or repository; table, figure or page; empty where the place is not known.
    obtained
        How the number was obtained: read, quoted by others, recalled.
    note
        What the number counts that the claim does not count; empty where nothing is known.
    """

    claim: str
    cluster: str
    value: float
    source: str
    place: str
    obtained: str
    note: str


@cache
def numbers_elsewhere() -> tuple[PrintedNumber, ...]:
    """Return the printed numbers of ``elsewhere.csv``, in its order."""
    with (Path(__file__).parent / "elsewhere.csv").open(newline="", encoding="utf-8") as file:
        return tuple(
            PrintedNumber(value=float(row.pop("value")), **row) for row in csv.DictReader(file)
        )
