"""What summaries of other clusters print of the claims of the atlas: numbers without rows."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Summary:
    """A number that a publisher's summary gives, in the unit of the claim.

    Attributes
    ----------
    note
        What it counts that the claim does not; empty where nothing is known.
    """

    cluster: str
    value: float
    source: str
    note: str


@cache
def summaries() -> dict[str, tuple[Summary, ...]]:
    """Return the printed numbers by claim (``elsewhere.csv``)."""
    found: dict[str, tuple[Summary, ...]] = {}
    with (Path(__file__).parent / "elsewhere.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            one = Summary(row["cluster"], float(row["value"]), row["source"], row["note"])
            found[row["claim"]] = (*found.get(row["claim"], ()), one)
    return found
