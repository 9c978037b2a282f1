"""Evaluate claims on published aggregates: summaries, curves, fault logs."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import (
    BOUNDS,
    CLEARANCE,
    Claim,
    Evidence,
    Finding,
    Verdict,
)
from philly_analysis.atlas.decision import decide
from philly_analysis.atlas.resampling import Estimate

_FOLDER = Path(__file__).parent / "aggregates"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A publisher's file with the SELECT that answers claims from it.

    Attributes
    ----------
    select
        Name of the SELECT in ``aggregates/``, which reads the file as ``published``.
    files
        The file, or a pattern of several, below the folder of all public traces.
    source
        Place of publication.
    claim, cluster
        If given, the SELECT returns the rows of this claim's relation, for this cluster.
        Otherwise it returns answers: claim, cluster, value, low, high, n.
    block
        What the rows' column ``user`` holds, in the plural; empty: weeks or days are resampled.
    note
        Difference between its counts and the claim's definition.
    """

    select: str
    files: str
    source: str
    claim: str = ""
    cluster: str = ""
    block: str = ""
    note: str = ""


@cache
def aggregates() -> tuple[Aggregate, ...]:
    """Return the aggregates of ``aggregates.toml``, in its order."""
    text = Path(__file__).with_name("aggregates.toml").read_text("utf-8")
    return tuple(Aggregate(**entry) for entry in tomllib.loads(text)["aggregate"])


def from_aggregates(folder: Path) -> Iterator[Finding]:
    """Yield the answers of the publishers' files that are in the folder of public traces."""
    for aggregate in aggregates():
        if files := sorted(folder.glob(aggregate.files)):
            for finding in _answers(aggregate, read_aggregate(aggregate, files)):
                notes = (aggregate.note,) if aggregate.note else ()
                yield replace(
                    finding, evidence=Evidence.AGGREGATES, source=aggregate.source, notes=notes
                )


def read_aggregate(aggregate: Aggregate, files: Sequence[Path]) -> pd.DataFrame:
    """Return the rows of an aggregate's SELECT over its files."""
    names: Any = [str(file) for file in files]  # the stubs of DuckDB know one file only
    with duckdb.connect(config={"threads": 1}) as con:
        con.query("set timezone = 'UTC'")  # not in `config`: its extension is loaded later
        json = ".json" in files[0].suffixes
        published = con.read_json(names) if json else con.read_csv(names, header=True)
        published.create_view("published")
        select = (_FOLDER / f"{aggregate.select}.sql").read_text("utf-8")
        rows: pd.DataFrame = con.from_query(select).df()
        return rows


def _answers(aggregate: Aggregate, rows: pd.DataFrame) -> Iterator[Finding]:
    if aggregate.claim:
        undecided = Finding(aggregate.claim, aggregate.cluster, Verdict.UNDECIDED)
        yield decide(undecided, CLAIMS[aggregate.claim], rows, aggregate.block)
        return
    for row in rows.astype(dict.fromkeys(("value", "low", "high", "n"), float)).to_dict("records"):
        low, high, n = row["low"], row["high"], row["n"]
        yield number_finding(
            CLAIMS[row["claim"]],
            aggregate.cluster or row["cluster"],
            row["value"],
            bounds=None if np.isnan(low) else (low, high),
            n=None if np.isnan(n) else int(n),
        )


def number_finding(
    claim: Claim,
    cluster: str,
    value: float,
    *,
    bounds: tuple[float, float] | None = None,
    n: int | None = None,
) -> Finding:
    """Return the answer of a number without rows.

    Parameters
    ----------
    bounds
        Limits of the effect that the publisher's data imply; None: the claim's clearance.
    n
        Observations that the number is of, where they are known.
    """
    effect = Estimate(value, *bounds) if bounds else claim.assumed(value)
    verdict = claim.verdict(effect)
    why = (
        f"The {'bounds include' if bounds else 'clearance includes'} "
        f"{claim.format(claim.threshold).lstrip('+')}."
    )
    return Finding(
        claim.name,
        cluster,
        verdict,
        effect=effect,
        counts={} if n is None else {"observations": n},
        kind=BOUNDS if bounds else CLEARANCE,
        why=why if verdict is Verdict.UNDECIDED else "",
    )
