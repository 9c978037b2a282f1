"""Read the public clusters: their cards, printed numbers, and the answers shipped for all."""

import csv
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from philly_analysis.atlas.aggregates import number_finding
from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Evidence, Finding, Verdict
from philly_analysis.atlas.resampling import Estimate
from philly_analysis.study import PrintedNumber, numbers_elsewhere

STUDY = "Philly"
"""The cluster of the study."""

_ANSWERS = Path(__file__).with_name("answers.csv")


@dataclass(frozen=True, slots=True)
class Card:
    """A public cluster.

    Attributes
    ----------
    years, size
        Period of the data, and size of the cluster.
    lacks
        Data of the cluster that no publisher released.
    """

    name: str
    what: str
    years: str
    size: str
    lacks: str


@cache
def cards() -> dict[str, Card]:
    """Return the public clusters of ``clusters.toml`` by name."""
    text = Path(__file__).with_name("clusters.toml").read_text("utf-8")
    return {name: Card(name, **entry) for name, entry in tomllib.loads(text).items()}


def from_print() -> Iterator[Finding]:
    """Yield the answers of the numbers that authors printed.

    A recalled number that could not be checked is shown and decides nothing.
    """
    for claim in CLAIMS.values():
        study = claim.published
        if study.value is not None:
            provenance = study.obtained.partition(" and ")[0]
            yield _printed(
                PrintedNumber(claim.name, STUDY, study.value, study.source, "", provenance, "")
            )
    yield from map(_printed, numbers_elsewhere())


def _printed(number: PrintedNumber) -> Finding:
    finding = number_finding(CLAIMS[number.claim], number.cluster, number.value)
    source = ", ".join(filter(None, (number.source, number.place)))
    finding = replace(
        finding,
        evidence=Evidence.PRINTED,
        source=f"{source} ({number.obtained})",
        notes=(number.note,) if number.note else (),
    )
    if number.obtained == "recalled":
        why = "Recalled, and not checked."
        effect = Estimate(number.value, np.nan, np.nan)
        return replace(finding, verdict=Verdict.UNDECIDED, effect=effect, kind="", why=why)
    return finding


COLUMNS = (
    *("claim", "cluster", "evidence", "source", "verdict", "effect", "low", "high", "n"),
    *("blocks", "block", "why", "notes"),
)
"""Columns of a table of answers."""


def answers_table(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return one row per finding."""
    rows = [
        {
            "claim": f.claim,
            "cluster": f.cluster,
            "evidence": str(f.evidence),
            "source": f.source,
            "verdict": str(f.verdict),
            "effect": f.effect.value,
            "low": f.effect.low,
            "high": f.effect.high,
            "n": min(f.counts.values(), default=0),
            "blocks": f.blocks,
            "block": f.kind,
            "why": f.why,
            "notes": " ".join(f.notes),
        }
        for f in findings
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@cache
def shipped_answers() -> tuple[Finding, ...]:
    """Return the answers of all public clusters that the package ships (``answers.csv``).

    ``make reports ATLAS=1`` computes the answers from the public traces.
    """
    with _ANSWERS.open(newline="", encoding="utf-8") as file:
        return tuple(
            Finding(
                row["claim"],
                row["cluster"],
                Verdict(row["verdict"]),
                Evidence(row["evidence"]),
                row["source"],
                Estimate(*(float(row[key] or "nan") for key in ("effect", "low", "high"))),
                {"observations": int(row["n"])} if int(row["n"]) else {},
                int(row["blocks"]),
                row["block"],
                row["why"],
                notes=(row["notes"],) if row["notes"] else (),
            )
            for row in csv.DictReader(file)
        )
