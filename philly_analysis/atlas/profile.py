"""Describe a trace: its source, period and size, and what it lacks."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from philly_analysis.atlas.claim import Claim
from philly_analysis.trace import Manifest, Trace

LACKS: dict[str, str] = tomllib.loads(Path(__file__).with_name("lacks.toml").read_text("utf-8"))
"""Names of data that a trace may lack, by column of ``known_columns`` or table."""


@dataclass(frozen=True, slots=True)
class TraceProfile:
    """One trace, with what it contains and lacks.

    Attributes
    ----------
    name
        Name of the trace, numbered if several traces have one name.
    manifest
        Manifest of the trace: source, notes of the ingest, and how the rows were selected.
    began_at, ended_at
        First and last submission; None without jobs.
    recorded
        Counts of ``known_columns`` by column, and rows by table. The users count as unknown if
        fewer than half of the jobs have a user; virtual clusters likewise.
    gpus
        GPUs of the machines; None if unknown.
    """

    name: str
    manifest: Manifest
    began_at: pd.Timestamp | None
    ended_at: pd.Timestamp | None
    recorded: dict[str, int]
    gpus: int | None

    @property
    def kind(self) -> str:
        """Kind of trace: synthetic, sample or all rows."""
        if self.manifest.synthetic:
            return "synthetic"
        return "sample" if self.manifest.sample else "all rows"

    @property
    def about(self) -> tuple[str, ...]:
        """Description and limits from the map of the trace; empty without a map."""
        return self.manifest.notes[:2] if self.manifest.source == "table" else ()

    @property
    def lacks(self) -> tuple[str, ...]:
        """Names of the data that the trace lacks."""
        return tuple(words for what, words in LACKS.items() if not self.recorded.get(what))

    @property
    def days(self) -> float:
        """Days between the first and the last submission."""
        if self.began_at is None or self.ended_at is None:
            return 0.0
        return (self.ended_at - self.began_at).total_seconds() / 86_400


def describe(trace: Trace, name: str) -> TraceProfile:
    """Describe a trace: its source, period, tables and known columns."""
    [row] = trace.answer("known_columns").df().to_dict("records")
    began_at, ended_at = row.pop("began_at"), row.pop("ended_at")
    for group in (
        "users",
        "vcs",
    ):  # users or virtual clusters of few jobs say little of the cluster
        row[group] *= 2 * row[group] >= row["jobs"]
    gpus = None
    if "machines" in trace.tables:
        [size] = trace.answer("cluster_size").df()["gpus"]
        gpus = int(size)
    return TraceProfile(
        name=name,
        manifest=trace.manifest,
        began_at=None if pd.isna(began_at) else began_at,
        ended_at=None if pd.isna(ended_at) else ended_at,
        recorded={t: trace.manifest.rows.get(t, 0) for t in trace.tables}
        | {str(what): int(n) for what, n in row.items()},
        gpus=gpus,
    )


def missing_data(claims: Iterable[Claim]) -> list[str]:
    """Return the names of the data that claims need."""
    needs = dict.fromkeys(need for claim in claims for need in claim.needs)
    return list(dict.fromkeys(LACKS.get(need, need).partition(",")[0] for need in needs))
