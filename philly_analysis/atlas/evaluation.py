"""Evaluate every claim on every cluster: from traces, aggregates and printed numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Evidence, Finding, Verdict, agreement
from philly_analysis.atlas.comparison import compare_clusters
from philly_analysis.atlas.decision import evaluate_claim
from philly_analysis.atlas.overview import plot
from philly_analysis.atlas.profile import TraceProfile, describe
from philly_analysis.atlas.public_clusters import Card, answers_table, cards, from_print
from philly_analysis.atlas.resampling import Estimate
from philly_analysis.progress import step
from philly_analysis.results import Result, count, unique_names
from philly_analysis.trace import Trace

_COLUMNS = [
    "claim", "cluster", "verdict", "evidence", "effect", "low", "high", "unit", "holds",
    "absent", "n", "blocks", "block", "agree", "source", "why", "notes", "shipped",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster: a column of the atlas.

    Attributes
    ----------
    card
        Card of the cluster; None for a cluster that is not public.
    traces
        Traces of the cluster.
    shipped
        True if the answers are shipped with the package, since no trace is at hand.
    """

    name: str
    card: Card | None
    traces: tuple[TraceProfile, ...] = ()
    shipped: bool = False


@dataclass(frozen=True, slots=True)
class Atlas:
    """The answers of all clusters to all claims.

    Attributes
    ----------
    clusters
        Yours first, then the public ones by the number of claims that they answer.
    evidence
        The answers by name of the claim and name of the cluster, the strongest first.
    reads
        The relations that each claim read.
    """

    clusters: tuple[Cluster, ...]
    evidence: dict[tuple[str, str], tuple[Finding, ...]]
    reads: dict[str, tuple[str, ...]]

    def answers(self, claim: str, cluster: str) -> tuple[Finding, ...]:
        """Return the answers of a cluster to a claim that have an effect, the strongest first."""
        return tuple(f for f in self.evidence[claim, cluster] if f.effect.value == f.effect.value)

    def strongest(self, claim: str, cluster: str) -> Finding:
        """Return the strongest answer of a cluster to a claim."""
        return self.evidence[claim, cluster][0]

    def decided(self, *kinds: Evidence) -> int:
        """Return the number of claims of public clusters that some kinds of evidence decide."""
        cells = ((c.name, cluster.name) for c in CLAIMS.values() for cluster in self.public)
        return sum(
            any(f.decided and f.evidence in kinds for f in self.evidence[cell]) for cell in cells
        )

    @property
    def public(self) -> tuple[Cluster, ...]:
        """The public clusters."""
        return tuple(cluster for cluster in self.clusters if cluster.card)

    @property
    def table(self) -> pd.DataFrame:
        """One row per claim and cluster with its strongest answer, claims in the page's order."""
        findings = [self.strongest(claim, c.name) for claim in CLAIMS for c in self.clusters]
        claims = [CLAIMS[f.claim] for f in findings]
        return answers_table(findings).assign(
            evidence=["" if f.brief else str(f.evidence) for f in findings],
            unit=[claim.measure.unit for claim in claims],
            holds=[claim.rule for claim in claims],
            absent=[claim.absence for claim in claims],
            agree=[agreement(self.evidence[f.claim, f.cluster]) for f in findings],
            shipped=[c.shipped for _ in CLAIMS for c in self.clusters],
        )[_COLUMNS]

    @property
    def all_answers(self) -> pd.DataFrame:
        """One row per answer with an effect, on any evidence."""
        findings = (f for some in self.evidence.values() for f in some)
        return answers_table(f for f in findings if not np.isnan(f.effect.value))

    @property
    def panels(self) -> pd.DataFrame:
        """Data of the small figures: claim, cluster, source, x, y, n."""
        drawn = [
            f.panel.assign(
                claim=f.claim, cluster=f.cluster, source=f.source, x=f.panel["x"].astype(str)
            )
            for some in self.evidence.values()
            for f in some
            if len(f.panel)
        ]
        columns = ["claim", "cluster", "source", "x", "y", "n"]
        return pd.concat(drawn)[columns] if drawn else pd.DataFrame(columns=columns)

    def result(self) -> Result:
        """Return the table of the clusters at hand as a result; sentences name unusual answers."""
        table = self.table
        mine = table[~table["shipped"]].drop(columns="shipped").reset_index(drop=True)
        verdicts = list(mine["verdict"])
        counts = ", ".join(f"{verdicts.count(str(v))} {v.word}" for v in Verdict)
        sentences = [
            f"{count(len(CLAIMS), 'claim')} tested on {count(mine['cluster'].nunique(), 'cluster')}"
            f": {counts}."
        ]
        sentences += [
            sentence
            for cluster in self.clusters
            if not cluster.card
            for sentence in self.unlike(cluster.name)
        ]
        return Result(
            "atlas",
            mine,
            sentences=sentences,
            question="Which findings of the study hold on which clusters?",
            draw=partial(plot, table),
            synthetic=any(t.manifest.synthetic for c in self.clusters for t in c.traces),
            reads=tuple(dict.fromkeys(name for reads in self.reads.values() for name in reads)),
        )

    def unlike(self, cluster: str) -> list[str]:
        """Return three sentences: where a cluster of yours is unlike the public ones."""
        mine = {claim: self.strongest(claim, cluster) for claim in CLAIMS}
        others = {
            claim: [self.strongest(claim, other.name) for other in self.public] for claim in CLAIMS
        }
        return compare_clusters(cluster, mine, others)


def in_brief(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for people: the effects with their intervals in units, and the reasons."""
    claims = [CLAIMS[name] for name in table["claim"]]
    ends = zip(claims, table["effect"], table["low"], table["high"], strict=True)
    shown = table[["cluster", "verdict", "holds", "why"]].copy()
    shown.insert(0, "claim", [claim.title for claim in claims])
    shown.insert(3, "effect", [claim.format_interval(Estimate(*effect)) for claim, *effect in ends])
    return shown if len(set(table["cluster"])) > 1 else shown.drop(columns="cluster")


def evaluate(
    traces: Sequence[Trace],
    clusters: Mapping[str, str] | None = None,
    aggregates: Iterable[Finding] = (),
    *,
    shipped: Iterable[Finding] = (),
) -> Atlas:
    """Evaluate every claim on every cluster.

    Parameters
    ----------
    traces
        Traces of any clusters.
    clusters
        The public cluster of traces by name; other traces are of clusters of their own.
    aggregates
        Answers of public clusters from what publishers released beside logs.
    shipped
        Answers that the package ships, for clusters without a trace or aggregate here. Printed
        numbers of the other clusters are added.
    """
    public_cards, of = cards(), clusters or {}
    names = [trace.manifest.name for trace in traces]
    names = unique_names(
        [f"{n} (yours)" if n in public_cards and n not in of else n for n in names]
    )
    profiles: dict[str, list[TraceProfile]] = {}
    reads = {name: {claim.relation: None} for name, claim in CLAIMS.items()}
    findings: list[Finding] = [*aggregates]
    for name, trace in zip(names, traces, strict=True):
        cluster = of.get(name, name)
        profile = describe(trace, name)
        profiles.setdefault(cluster, []).append(profile)
        with step(f"testing claims on {name}"):
            for claim in CLAIMS.values():
                with trace.record_reads() as asked:
                    findings.append(evaluate_claim(trace, claim, profile, cluster))
                reads[claim.name] |= asked
    at_hand = {f.cluster for f in findings}
    findings += (f for f in from_print() if f.cluster in at_hand)
    findings += (f for f in shipped if f.cluster not in at_hand)
    evidence = _by_cell(findings)
    answered = {
        cluster: sum(evidence[claim, cluster][0].decided for claim in CLAIMS)
        for cluster in dict.fromkeys(f.cluster for f in findings)
    }
    columns = [
        Cluster(
            name, public_cards.get(name), tuple(profiles.get(name, ())), shipped=name not in at_hand
        )
        for name in sorted(answered, key=lambda name: (name in public_cards, -answered[name]))
    ]
    return Atlas(tuple(columns), evidence, {name: tuple(asked) for name, asked in reads.items()})


def _by_cell(findings: Sequence[Finding]) -> dict[tuple[str, str], tuple[Finding, ...]]:
    """Return the findings by claim and cluster, the strongest first, with a gap where none is."""
    why = "No publisher released data that answer it."
    clusters = dict.fromkeys(f.cluster for f in findings)
    cells: dict[tuple[str, str], list[Finding]] = {(c, n): [] for c in CLAIMS for n in clusters}
    for finding in findings:
        cells[finding.claim, finding.cluster].append(finding)
    return {
        cell: tuple(sorted(some, key=lambda f: f.strength))
        or (Finding(*cell, Verdict.UNDECIDED, why=why, brief="no data"),)
        for cell, some in cells.items()
    }
