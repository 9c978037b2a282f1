"""Prepare the page's small multiples: each claim with its effects and a panel per cluster."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from philly_analysis.atlas import drawing
from philly_analysis.atlas.catalogue import CHAPTERS
from philly_analysis.atlas.claim import Claim, Finding, Verdict
from philly_analysis.atlas.evaluation import Atlas
from philly_analysis.results import number
from philly_analysis.study import summaries
from philly_analysis.trace import Relation, with_dependencies

SYMBOLS = {
    Verdict.HOLDS: "●",
    Verdict.REVERSED: "✕",
    Verdict.ABSENT: "≈",
    Verdict.UNDECIDED: "?",
}
"""A symbol per verdict, so that it does not depend on colour alone."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One effect on the axis of its claim, with positions from 0 to 100.

    Attributes
    ----------
    kind
        The word of a cluster's verdict; ``study`` or ``summary`` for published values.
    text
        The effect with its interval.
    low, high
        Ends of the interval; None without one.
    """

    name: str
    kind: str
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
    threshold, margin
        Positions of the threshold and of the ends of the margin.
    panels
        Finding and figure of each cluster with data.
    summaries
        Published values: source, note, clusters.
    undecided
        Clusters without an effect, by reason.
    notes
        Biases of samples, by cluster.
    sql
        Every relation that was read for it.
    """

    claim: Claim
    findings: tuple[Finding, ...]
    axis: drawing.Axis
    threshold: float
    margin: tuple[float, float] | None
    marks: tuple[Mark, ...]
    panels: tuple[tuple[Finding, str], ...]
    summaries: tuple[tuple[str, str, tuple[str, ...]], ...]
    undecided: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[tuple[str, str], ...]
    sql: list[Relation]

    def tally(self, verdict: Verdict) -> int:
        """Return the number of clusters with a verdict."""
        return sum(f.verdict is verdict for f in self.findings)


def short_interval(claim: Claim, finding: Finding) -> str:
    """Return the interval of an effect in the short form of a table cell."""
    effect = finding.effect
    if np.isnan(effect.low):
        return "no interval"
    text = claim.format if claim.measure.unit == "s" else number
    low, high = (
        text(v).replace("-", "−") if np.isfinite(v) else "∞" for v in (effect.low, effect.high)
    )
    unit = high.partition(" ")[2]
    return f"[{low.removesuffix(f' {unit}') if unit else low}, {high}]"


def multiples(atlas: Atlas) -> dict[str, list[Multiple]]:
    """Return the small multiples of all claims by chapter."""
    return {
        chapter: [_multiple(claim, atlas) for claim in claims]
        for chapter, claims in CHAPTERS.items()
    }


def _multiple(claim: Claim, atlas: Atlas) -> Multiple:
    findings = tuple(atlas.findings[claim.name, c.name] for c in atlas.clusters)
    printed, study = summaries().get(claim.name, ()), claim.published
    values = [v for f in findings for v in (f.effect.value, f.effect.low, f.effect.high)]
    values += [s.value for s in printed]
    values += [] if study.value is None else [study.value]
    axis = drawing.axis(claim, values)
    drawn = [f for f in findings if len(f.panel)]
    top = drawing.top_of(claim, [f.panel for f in drawn])
    marks = [_mark(claim, axis, f) for f in findings if not np.isnan(f.effect.value)]
    marks += [Mark(s.cluster, "summary", axis.at(s.value), claim.format(s.value)) for s in printed]
    if study.value is not None:
        at, text = axis.at(study.value), claim.format(study.value)
        marks.append(Mark("The study", "study", at, text, study.source))
    margin = claim.margin
    undecided = sorted((f.why, i) for i, f in enumerate(findings) if np.isnan(f.effect.value))
    return Multiple(
        claim=claim,
        findings=findings,
        axis=axis,
        threshold=axis.at(claim.threshold),
        margin=(axis.at(margin.low), axis.at(margin.high)) if margin else None,
        marks=tuple(marks),
        panels=tuple(
            (f, drawing.panel(claim, f.panel, top, f"{f.cluster}: {claim.label}")) for f in drawn
        ),
        summaries=tuple(
            (*key, tuple(s.cluster for s in printed if (s.source, s.note) == key))
            for key in dict.fromkeys((s.source, s.note) for s in printed)
        ),
        undecided=tuple(
            (why, tuple(findings[i].cluster for _, i in some))
            for why, some in groupby(undecided, key=lambda one: one[0])
        ),
        notes=tuple((f.cluster, note) for f in findings for note in f.notes),
        sql=with_dependencies(atlas.reads[claim.name]),
    )


def _mark(claim: Claim, axis: drawing.Axis, finding: Finding) -> Mark:
    effect, kind = finding.effect, finding.verdict.word
    at, value = axis.at(effect.value), claim.format(effect.value)
    if np.isnan(effect.low):
        return Mark(finding.cluster, kind, at, f"{value}, no interval", finding.why)
    low, high = claim.format(effect.low), claim.format(effect.high)
    for unit in (" %", "×", " points", " min", " h", " s"):
        low = low.removesuffix(unit) if high.endswith(unit) else low
    return Mark(
        finding.cluster,
        kind,
        at,
        f"{value} [{low} to {high}]",
        f"{finding.blocks:,} {finding.kind}",
        axis.at(effect.low),
        axis.at(effect.high),
    )
