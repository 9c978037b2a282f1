"""Prepare the page's small multiples: each claim with its effects and a panel per cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from itertools import groupby

import numpy as np

from philly_analysis.atlas import drawing
from philly_analysis.atlas.catalogue import CHAPTERS
from philly_analysis.atlas.claim import Claim, Finding, Verdict, agreement
from philly_analysis.atlas.evaluation import Atlas
from philly_analysis.trace import Relation, with_dependencies

SYMBOLS = {
    Verdict.HOLDS: "●",
    Verdict.REVERSED: "✕",
    Verdict.ABSENT: "≈",
    Verdict.UNDECIDED: "■",
}
"""A symbol per verdict, so that it does not depend on colour alone."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One answer on the axis of its claim, with positions from 0 to 100.

    Attributes
    ----------
    finding
        The answer.
    text, note
        The effect with its interval, and what the interval is.
    low, high
        Ends of the interval; None without one.
    """

    finding: Finding
    at: float
    text: str
    note: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Multiple:
    """One claim with all clusters side by side.

    Attributes
    ----------
    findings
        The strongest answer of each cluster.
    threshold, margin
        Positions of the threshold and of the ends of the margin.
    marks, others
        Strongest answer of each cluster with an effect, and the other answers of the cluster.
    cells
        The answer of each cluster as a small figure, empty where there is no effect.
    panels
        Finding and figure of each trace with data.
    agree
        Whether several answers of a cluster agree, by name.
    undecided
        Clusters without an effect, by reason.
    notes
        Biases of samples, and what numbers count otherwise: source and note.
    sql
        Names of all relations that the answers read.
    """

    claim: Claim
    findings: tuple[Finding, ...]
    axis: drawing.Axis
    threshold: float
    margin: tuple[float, float] | None
    marks: tuple[Mark, ...]
    others: tuple[Mark, ...]
    cells: tuple[str, ...]
    panels: tuple[tuple[Finding, str], ...]
    agree: dict[str, str]
    undecided: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[tuple[str, str], ...]
    sql: list[Relation]

    def tally(self, verdict: Verdict) -> int:
        """Return the number of clusters with a verdict."""
        return sum(f.verdict is verdict for f in self.findings)


def multiples(atlas: Atlas) -> dict[str, list[Multiple]]:
    """Return the small multiples of all claims by chapter."""
    return {
        chapter: [_multiple(claim, atlas) for claim in claims]
        for chapter, claims in CHAPTERS.items()
    }


def by_answers(
    chapters: Mapping[str, Iterable[Multiple]],
) -> tuple[list[Multiple], list[Multiple]]:
    """Return the claims by the number of verdicts, then of effects; and claims without effects."""
    every = [multiple for some in chapters.values() for multiple in some]
    answered = sorted(
        (m for m in every if m.marks),
        key=lambda m: (m.tally(Verdict.UNDECIDED), -len(m.marks)),
    )
    return answered, [m for m in every if not m.marks]


def _multiple(claim: Claim, atlas: Atlas) -> Multiple:
    findings = tuple(atlas.strongest(claim.name, c.name) for c in atlas.clusters)
    answers = [f for c in atlas.clusters for f in atlas.answers(claim.name, c.name)]
    axis = drawing.axis(claim, (v for f in answers for v in astuple(f.effect)))
    drawn = [f for f in answers if len(f.panel)]
    top = drawing.top_of(claim, [f.panel for f in drawn])
    margin = claim.margin
    undecided = sorted((f.why, i) for i, f in enumerate(findings) if f.brief)
    agree = {c.name: agreement(atlas.answers(claim.name, c.name)) for c in atlas.clusters}
    return Multiple(
        claim=claim,
        findings=findings,
        axis=axis,
        threshold=axis.at(claim.threshold),
        margin=(axis.at(margin.low), axis.at(margin.high)) if margin else None,
        marks=tuple(_mark(claim, axis, f) for f in findings if f.effect.value == f.effect.value),
        others=tuple(_mark(claim, axis, f) for f in answers if all(f is not s for s in findings)),
        cells=tuple("" if f.brief else drawing.cell(claim, f) for f in findings),
        panels=tuple(
            (f, drawing.panel(claim, f.panel, top, f"{f.source}: {claim.label}")) for f in drawn
        ),
        agree={name: word for name, word in agree.items() if word},
        undecided=tuple(
            (why, tuple(findings[i].cluster for _, i in some))
            for why, some in groupby(undecided, key=lambda one: one[0])
        ),
        notes=tuple(dict.fromkeys((f.source, note) for f in answers for note in f.notes)),
        sql=with_dependencies(atlas.reads[claim.name]),
    )


def _mark(claim: Claim, axis: drawing.Axis, finding: Finding) -> Mark:
    effect = finding.effect
    at, value = axis.at(effect.value), claim.shown(finding)
    if np.isnan(effect.low):
        return Mark(finding, at, f"{value}, no interval", finding.why)
    low, high = claim.format(effect.low), claim.format(effect.high)
    for unit in (" %", "×", " points", " min", " h", " s"):
        low = low.removesuffix(unit) if high.endswith(unit) else low
    note = f"{finding.blocks:,} {finding.kind}" if finding.blocks else finding.kind
    return Mark(
        finding, at, f"{value} [{low} to {high}]", note, axis.at(effect.low), axis.at(effect.high)
    )
