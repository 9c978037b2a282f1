"""The plates of the atlas: one claim each, with all clusters side by side."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from philly_analysis.atlas import drawing
from philly_analysis.atlas.catalogue import CHAPTERS
from philly_analysis.atlas.claim import Claim, Finding, Verdict
from philly_analysis.atlas.evaluate import Atlas
from philly_analysis.results import number
from philly_analysis.study import summaries
from philly_analysis.trace import Relation, with_dependencies

SYMBOLS = {Verdict.HOLDS: "●", Verdict.DOES_NOT: "✕", Verdict.UNSAID: "?"}
"""A symbol per verdict, so that colour is never all that tells them apart."""

CLASSES = {Verdict.HOLDS: "holds", Verdict.DOES_NOT: "not", Verdict.UNSAID: "unsaid"}
"""Its class on the page."""

COLORS = {
    "holds": "#0b5a91",
    "not": "#a84300",
    "unsaid": "#7d8792",
    "study": "#22272e",
    "summary": "#7d8792",
}
"""Colour of each kind of mark; blue and orange are told apart by all eyes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One effect on the axis of its claim; places are 0 to 100.

    Attributes
    ----------
    kind
        ``holds``, ``not`` or ``unsaid`` for a cluster; ``study`` or ``summary`` for what is
        printed elsewhere.
    low, high
        Ends of the interval; None where there is none.
    """

    name: str
    kind: str
    at: float
    low: float | None
    high: float | None
    said: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """What one cluster shows."""

    finding: Finding
    svg: str


@dataclass(frozen=True, slots=True)
class Plate:
    """One claim with all clusters side by side.

    Attributes
    ----------
    summaries
        What is printed elsewhere: source, what it counts besides, clusters.
    unsaid
        Clusters that cannot be asked, by why.
    notes
        How samples bend the answers, by cluster.
    sql
        Every relation that was read for it.
    """

    claim: Claim
    findings: tuple[Finding, ...]
    axis: drawing.Axis
    threshold: float
    marks: tuple[Mark, ...]
    panels: tuple[Panel, ...]
    summaries: tuple[tuple[str, str, tuple[str, ...]], ...]
    unsaid: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[tuple[str, str], ...]
    sql: list[Relation]

    def tally(self, verdict: Verdict) -> int:
        """Return the number of clusters with a verdict."""
        return sum(f.verdict is verdict for f in self.findings)


def said(claim: Claim, finding: Finding) -> str:
    """Return an effect with its interval, as people read them."""
    effect = finding.effect
    if np.isnan(effect.value):
        return ""
    if np.isnan(effect.low):
        return f"{claim.say(effect.value)}, no interval"
    return f"{claim.say(effect.value)} {interval(claim, finding)}"


def interval(claim: Claim, finding: Finding) -> str:
    """Return the interval of an effect, its unit said once; empty where there is none."""
    effect = finding.effect
    if np.isnan(effect.low):
        return ""
    low, high = map(claim.say, effect.ends)
    for unit in (" %", "×", " points", " min", " h", " s"):
        low = low.removesuffix(unit) if high.endswith(unit) else low
    return f"[{low} to {high}]"


def short(claim: Claim, finding: Finding) -> str:
    """Return the interval of an effect as a cell of the table has room for."""
    effect = finding.effect
    if np.isnan(effect.low):
        return "no interval"
    say = claim.say if claim.unit == "s" else number
    low, high = (say(v).replace("-", "−") if np.isfinite(v) else "∞" for v in effect.ends)
    unit = high.partition(" ")[2]
    return f"[{low.removesuffix(f' {unit}') if unit else low}, {high}]"


def plates(atlas: Atlas) -> dict[str, list[Plate]]:
    """Return the plates by chapter."""
    return {
        chapter: [_plate(claim, atlas) for claim in claims] for chapter, claims in CHAPTERS.items()
    }


def _plate(claim: Claim, atlas: Atlas) -> Plate:
    findings = tuple(atlas.findings[claim.name, c.name] for c in atlas.clusters)
    printed = summaries().get(claim.name, ())
    values = [v for f in findings for v in (f.effect.value, f.effect.low, f.effect.high)]
    values += [s.value for s in printed]
    values += [] if claim.printed.value is None else [claim.printed.value]
    axis = drawing.axis(claim, values)
    drawn = [f for f in findings if len(f.panel)]
    top = drawing.top_of(claim, [f.panel for f in drawn])
    unasked = sorted((f.why, i) for i, f in enumerate(findings) if np.isnan(f.effect.value))
    return Plate(
        claim=claim,
        findings=findings,
        axis=axis,
        threshold=axis.at(claim.threshold),
        marks=(
            *(_mark(claim, axis, f) for f in findings if not np.isnan(f.effect.value)),
            *(
                Mark(s.cluster, "summary", axis.at(s.value), None, None, claim.say(s.value))
                for s in printed
            ),
            *_study(claim, axis),
        ),
        panels=tuple(
            Panel(f, drawing.panel(claim, f.panel, top, f"{f.cluster}: {claim.label}"))
            for f in drawn
        ),
        summaries=tuple(
            (*key, tuple(s.cluster for s in printed if (s.source, s.note) == key))
            for key in dict.fromkeys((s.source, s.note) for s in printed)
        ),
        unsaid=tuple(
            (why, tuple(findings[i].cluster for _, i in some))
            for why, some in groupby(unasked, key=lambda one: one[0])
        ),
        notes=tuple((f.cluster, note) for f in findings for note in f.notes),
        sql=with_dependencies(atlas.reads[claim.name]),
    )


def _mark(claim: Claim, axis: drawing.Axis, finding: Finding) -> Mark:
    effect, known = finding.effect, not np.isnan(finding.effect.low)
    return Mark(
        finding.cluster,
        CLASSES[finding.verdict],
        axis.at(effect.value),
        axis.at(effect.low) if known else None,
        axis.at(effect.high) if known else None,
        said(claim, finding),
        f"{finding.blocks:,} {finding.kind}" if known else finding.why,
    )


def _study(claim: Claim, axis: drawing.Axis) -> tuple[Mark, ...]:
    printed = claim.printed
    if printed.value is None:
        return ()
    value = claim.say(printed.value)
    return (Mark("The study", "study", axis.at(printed.value), None, None, value, printed.source),)
