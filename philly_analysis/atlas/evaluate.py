"""Asks every trace every claim, and says of each what it is and what it lacks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import (
    FEWEST_EVENTS,
    FEWEST_ROWS,
    FEWEST_WITNESSES,
    Claim,
    Finding,
    Verdict,
)
from philly_analysis.atlas.resampling import FEWEST_BLOCKS, Resampling, resampling
from philly_analysis.progress import step
from philly_analysis.results import Result, count, told_apart
from philly_analysis.trace import SELECTION_CRITERIA, Sample, Trace

LACKS = {
    "starts": "starts, so waits",
    "run_times": "run times",
    "gangs": "gang sizes",
    "statuses": "how jobs ended",
    "retries": "retries",
    "users": "users",
    "vcs": "virtual clusters",
    "given_quotas": "quotas",
    "machines": "machines",
    "placements": "placements",
    "gpu_samples": "readings of GPUs",
    "host_samples": "readings of hosts",
    "failures": "output of failed attempts",
}
"""What a trace may lack, in words: columns of ``known_columns``, and tables."""


_BRIEFLY = {
    "run_times": "run times",
    "gangs": "gang sizes",
    "statuses": "endings",
    "vcs": "virtual clusters",
    "given_quotas": "quotas",
    "gpu_samples": "GPU readings",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """One trace: what it is, and what it lacks.

    Attributes
    ----------
    name
        Of the trace, told apart from others of the same name.
    began_at, ended_at
        First and last submission; None where there is no job.
    known
        The row of ``known_columns``, and the rows of each table that is there.
    gpus
        GPUs of its machines; None where machines are not known.
    sample
        How its rows were chosen; None where they are all that the source has.
    notes
        What the ingest noted.
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
        """What it is, in a word or two."""
        if self.synthetic:
            return "synthetic"
        return "sample" if self.sample else "all rows"

    @property
    def about(self) -> tuple[str, ...]:
        """What it is and what it leaves open, in the words of its map; none where no map says."""
        return self.notes[:2] if self.source == "table" else ()

    @property
    def lacks(self) -> tuple[str, ...]:
        """What it lacks, in words."""
        return tuple(words for what, words in LACKS.items() if not self.known.get(what))

    @property
    def days(self) -> float:
        """Days from the first submission to the last."""
        if self.began_at is None or self.ended_at is None:
            return 0.0
        return (self.ended_at - self.began_at).total_seconds() / 86_400


@dataclass(frozen=True, slots=True)
class Atlas:
    """What every trace says of every claim.

    Attributes
    ----------
    clusters
        The traces, in the order given.
    findings
        By name of the claim and name of the cluster.
    reads
        The relations that were asked for each claim.
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
                "unit": claim.unit,
                "holds": claim.rule,
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
        """What is drawn of each cluster: claim, cluster, x, y, n."""
        drawn = [
            f.panel.assign(claim=f.claim, cluster=f.cluster, x=f.panel["x"].astype(str))
            for f in self.findings.values()
            if len(f.panel)
        ]
        columns = ["claim", "cluster", "x", "y", "n"]
        return pd.concat(drawn)[columns] if drawn else pd.DataFrame(columns=columns)

    def result(self) -> Result:
        """Return the table as a result, with what it says in sentences."""
        names = [f.verdict for f in self.findings.values()]
        said = ", ".join(f"{names.count(v)} {v}" for v in Verdict)
        return Result(
            name="atlas",
            question="Which findings of the study hold on which clusters?",
            table=self.table,
            sentences=(
                f"{count(len(CLAIMS), 'claim')} asked of {count(len(self.clusters), 'trace')}: "
                f"{said}.",
            ),
            synthetic=any(c.synthetic for c in self.clusters),
            reads=tuple(dict.fromkeys(r for asked in self.reads.values() for r in asked)),
        )


_COLUMNS = [
    *("claim", "cluster", "verdict", "effect", "low", "high", "unit", "holds", "n", "blocks"),
    *("block", "why", "notes"),
]


def survey(traces: Sequence[Trace]) -> Atlas:
    """Ask every trace every claim."""
    clusters, findings = [], {}
    reads: dict[str, dict[str, None]] = {name: {} for name in CLAIMS}
    names = told_apart([trace.manifest.name for trace in traces])
    for name, trace in zip(names, traces, strict=True):
        cluster = describe(trace, name)
        clusters.append(cluster)
        with step(f"asking {name}"):
            for claim in CLAIMS.values():
                with trace.record_reads() as asked:
                    findings[claim.name, name] = ask(trace, claim, cluster)
                reads[claim.name] |= asked
    for name, claim in CLAIMS.items():  # its own first, asked or not
        reads[name] = {claim.relation: None} | reads[name]
    return Atlas(tuple(clusters), findings, {name: tuple(asked) for name, asked in reads.items()})


def describe(trace: Trace, name: str) -> Cluster:
    """Say of a trace what it is and what it has."""
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


def ask(trace: Trace, claim: Claim, cluster: Cluster) -> Finding:
    """Ask one trace one claim.

    What it lacks, how its rows were chosen, too few rows and an interval that spans the threshold
    each make it one that cannot be said, and the finding says which.
    """
    unsaid = Finding(claim.name, cluster.name, Verdict.UNSAID)
    if lacking := [n for n in claim.needs if not cluster.known.get(n)]:
        brief = f"no {_BRIEFLY.get(lacking[0], lacking[0])}"
        why = f"Lacks {_listed([LACKS.get(n, n) for n in lacking])}."
        return replace(unsaid, why=why, brief=brief)
    chosen = cluster.sample.by if cluster.sample else ()
    if spoiled := [SELECTION_CRITERIA[b] for b in chosen if b in claim.spoiled_by]:
        why = f"A sample, chosen by {_listed(spoiled)}."
        return replace(unsaid, why=why, brief="sample")
    rows = trace.answer(claim.relation).df()
    r = resampling(rows, of_users=claim.of_users)
    counts = {words: int(n.sum()) for words, n in claim.sides(rows).items()}
    if why := _too_few(claim, rows, r):
        return replace(unsaid, counts=counts, why=why, brief="too few rows")
    effect = r.estimate(claim.statistic(rows, r))
    if claim.most is not None and effect.low == effect.low:
        effect = replace(effect, high=claim.most)
    verdict = claim.judge(effect)
    bent = [b for b in chosen if b in claim.bent_by]
    return Finding(
        claim=claim.name,
        cluster=cluster.name,
        verdict=verdict,
        effect=effect,
        counts=counts,
        blocks=r.blocks,
        kind=r.kind,
        why=_unsure(claim, effect.low, r.blocks, r.kind) if verdict is Verdict.UNSAID else "",
        notes=(cluster.sample.how,) if bent and cluster.sample else (),
        panel=claim.panel(rows),
    )


def _too_few(claim: Claim, rows: pd.DataFrame, r: Resampling) -> str:
    """Say what there is too little of, if anything."""
    for sides, fewest in ((claim.sides, FEWEST_ROWS), (claim.events, FEWEST_EVENTS)):
        for words, n in (sides(rows) if sides else {}).items():
            witnesses = len(np.unique(r.codes[n.to_numpy(float) > 0]))
            if n.sum() < fewest:
                return f"Too few: {int(n.sum()):,} {words}."
            if witnesses < FEWEST_WITNESSES:
                return f"Too few: {words} are of {count(witnesses, r.kind.removesuffix('s'))}."
    return ""


def _unsure(claim: Claim, low: float, blocks: int, kind: str) -> str:
    if blocks < FEWEST_BLOCKS:
        return f"{count(blocks, kind.removesuffix('s'))} are too few for an interval."
    if low != low:
        return "The effect cannot be computed in some of the drawings."
    return f"The interval spans {claim.say(claim.threshold).lstrip('+')}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
