"""Evaluate every claim on every trace, and describe what each trace lacks."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import (
    FEWEST_BLOCKS_WITH_ROWS,
    FEWEST_EVENTS,
    FEWEST_ROWS,
    Claim,
    Finding,
    Verdict,
)
from philly_analysis.atlas.overview import plot
from philly_analysis.atlas.resampling import FEWEST_BLOCKS, Resampling, resampling
from philly_analysis.progress import step
from philly_analysis.results import Result, count, unique_names
from philly_analysis.trace import SELECTION_CRITERIA, Sample, Trace

LACKS: dict[str, str] = tomllib.loads(Path(__file__).with_name("lacks.toml").read_text("utf-8"))
"""Names of what a trace may lack: columns of ``known_columns``, and tables."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One trace, with what it contains and lacks.

    Attributes
    ----------
    name
        Name of the trace, numbered if others have the same.
    began_at, ended_at
        First and last submission; None without jobs.
    known
        The row of ``known_columns``, and the number of rows of each table.
    gpus
        GPUs of its machines; None where they are unknown.
    sample
        How its rows were selected; None for all rows of the source.
    notes
        Notes of the ingest.
    """

    name: str
    source: str
    synthetic: bool
    began_at: pd.Timestamp | None
    ended_at: pd.Timestamp | None
    known: dict[str, int]
    gpus: int | None
    sample: Sample | None
    notes: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Whether it is synthetic, a sample or complete."""
        if self.synthetic:
            return "synthetic"
        return "sample" if self.sample else "all rows"

    @property
    def about(self) -> tuple[str, ...]:
        """Description and limits from its map; empty without a map."""
        return self.notes[:2] if self.source == "table" else ()

    @property
    def lacks(self) -> tuple[str, ...]:
        """Names of what it lacks."""
        return tuple(words for what, words in LACKS.items() if not self.known.get(what))

    @property
    def days(self) -> float:
        """Days from the first submission to the last."""
        if self.began_at is None or self.ended_at is None:
            return 0.0
        return (self.ended_at - self.began_at).total_seconds() / 86_400


@dataclass(frozen=True, slots=True)
class Atlas:
    """The answers of all traces to all claims.

    Attributes
    ----------
    clusters
        The traces, in the order given.
    findings
        By name of the claim and name of the cluster.
    reads
        The relations that each claim read.
    """

    clusters: tuple[Cluster, ...]
    findings: dict[tuple[str, str], Finding]
    reads: dict[str, tuple[str, ...]]

    @property
    def table(self) -> pd.DataFrame:
        """One row per claim and cluster, claims in the order of the page."""
        rows = [
            {
                "claim": claim.name,
                "cluster": cluster.name,
                "verdict": str(found.verdict),
                "effect": found.effect.value,
                "low": found.effect.low,
                "high": found.effect.high,
                "unit": claim.measure.unit,
                "holds": claim.rule,
                "absent": claim.absence,
                "n": min(found.counts.values(), default=0),
                "blocks": found.blocks,
                "block": found.kind,
                "why": found.why,
                "notes": " ".join(found.notes),
            }
            for claim in CLAIMS.values()
            for cluster in self.clusters
            for found in [self.findings[claim.name, cluster.name]]
        ]
        return pd.DataFrame(rows, columns=_COLUMNS)

    @property
    def panels(self) -> pd.DataFrame:
        """Data of the small figures: claim, cluster, x, y, n."""
        drawn = [
            f.panel.assign(claim=f.claim, cluster=f.cluster, x=f.panel["x"].astype(str))
            for f in self.findings.values()
            if len(f.panel)
        ]
        columns = ["claim", "cluster", "x", "y", "n"]
        return pd.concat(drawn)[columns] if drawn else pd.DataFrame(columns=columns)

    def result(self) -> Result:
        """Return the table as a result, with the number of verdicts."""
        verdicts = [f.verdict for f in self.findings.values()]
        counts = ", ".join(f"{verdicts.count(v)} {v.word}" for v in Verdict)
        return Result(
            "atlas",
            self.table,
            sentences=[
                f"{count(len(CLAIMS), 'claim')} tested on {count(len(self.clusters), 'trace')}: "
                f"{counts}."
            ],
            question="Which findings of the study hold on which clusters?",
            draw=plot,
            synthetic=any(c.synthetic for c in self.clusters),
            reads=tuple(dict.fromkeys(name for reads in self.reads.values() for name in reads)),
        )


_COLUMNS = [
    *("claim", "cluster", "verdict", "effect", "low", "high", "unit", "holds", "absent"),
    *("n", "blocks", "block", "why", "notes"),
]


def evaluate(traces: Sequence[Trace]) -> Atlas:
    """Evaluate every claim on every trace."""
    clusters, findings = [], {}
    reads: dict[str, dict[str, None]] = {name: {} for name in CLAIMS}
    names = unique_names([trace.manifest.name for trace in traces])
    for name, trace in zip(names, traces, strict=True):
        cluster = describe(trace, name)
        clusters.append(cluster)
        with step(f"testing claims on {name}"):
            for claim in CLAIMS.values():
                with trace.record_reads() as asked:
                    findings[claim.name, name] = evaluate_claim(trace, claim, cluster)
                reads[claim.name] |= asked
    for name, claim in CLAIMS.items():  # its own relation first, read or not
        reads[name] = {claim.relation: None} | reads[name]
    return Atlas(tuple(clusters), findings, {name: tuple(asked) for name, asked in reads.items()})


def describe(trace: Trace, name: str) -> Cluster:
    """Describe a trace: its source, period, tables and known columns."""
    [row] = trace.answer("known_columns").df().to_dict("records")
    began_at, ended_at = row.pop("began_at"), row.pop("ended_at")
    manifest = trace.manifest
    gpus = None
    if "machines" in trace.tables:
        [size] = trace.answer("cluster_size").df()["gpus"]
        gpus = int(size)
    return Cluster(
        name=name,
        source=manifest.source,
        synthetic=manifest.synthetic,
        began_at=None if pd.isna(began_at) else began_at,
        ended_at=None if pd.isna(ended_at) else ended_at,
        known={t: manifest.rows.get(t, 0) for t in trace.tables}
        | {str(what): int(n) for what, n in row.items()},
        gpus=gpus,
        sample=manifest.sample,
        notes=manifest.notes,
    )


def evaluate_claim(trace: Trace, claim: Claim, cluster: Cluster) -> Finding:
    """Evaluate one claim on one trace.

    It is undecided for missing tables or columns, an unsuitable sample, too few rows, or an
    interval that includes the threshold; the finding names the reason.
    """
    undecided = Finding(claim.name, cluster.name, Verdict.UNDECIDED)
    if missing := [LACKS.get(n, n) for n in claim.needs if not cluster.known.get(n)]:
        brief = f"no {missing[0].partition(',')[0]}"
        return replace(undecided, why=f"Lacks {_listed(missing)}.", brief=brief)
    criteria = cluster.sample.by if cluster.sample else ()
    if invalid := [SELECTION_CRITERIA[b] for b in criteria if b in claim.invalid_for]:
        return replace(undecided, why=f"A sample, selected by {_listed(invalid)}.", brief="sample")
    rows = trace.answer(claim.relation).df()
    r = resampling(rows, of_users=claim.of_users)
    counts = {group: int(n.sum()) for group, n in claim.measure.groups(rows).items()}
    if why := _too_few(claim, rows, r):
        return replace(undecided, counts=counts, why=why, brief="too few rows")
    effect = r.estimate(claim.measure.statistic(rows, r))
    if claim.measure.most is not None and effect.low == effect.low:
        effect = replace(effect, high=claim.measure.most)
    verdict = claim.verdict(effect)
    biased = cluster.sample and any(b in claim.biased_by for b in criteria)
    return Finding(
        claim=claim.name,
        cluster=cluster.name,
        verdict=verdict,
        effect=effect,
        counts=counts,
        blocks=r.blocks,
        kind=r.kind,
        why=_reason(claim, effect.low, r) if verdict is Verdict.UNDECIDED else "",
        notes=(cluster.sample.how,) if cluster.sample and biased else (),
        panel=claim.measure.panel(rows),
    )


def _too_few(claim: Claim, rows: pd.DataFrame, r: Resampling) -> str:
    """Return what there are too few of: observations, events or blocks; empty if enough."""
    for counts, fewest in (
        (claim.measure.groups, FEWEST_ROWS),
        (claim.measure.events, FEWEST_EVENTS),
    ):
        for group, n in (counts(rows) if counts else {}).items():
            blocks = len(np.unique(r.codes[n.to_numpy(float) > 0]))
            if n.sum() < fewest:
                return f"Too few: {int(n.sum()):,} {group}."
            if blocks < FEWEST_BLOCKS_WITH_ROWS:
                return f"Too few: {group} are of {count(blocks, r.kind.removesuffix('s'))}."
    return ""


def _reason(claim: Claim, low: float, r: Resampling) -> str:
    """Return why a verdict is undecided."""
    if r.blocks < FEWEST_BLOCKS:
        return f"{count(r.blocks, r.kind.removesuffix('s'))} are too few for an interval."
    if low != low:
        return "The effect cannot be computed in some of the bootstrap samples."
    return f"The interval includes {claim.format(claim.threshold).lstrip('+')}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
