"""Evaluate a claim on a trace: check the sample size, estimate the effect, return a verdict."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from philly_analysis.atlas.claim import (
    FEWEST_BLOCKS_WITH_ROWS,
    FEWEST_EVENTS,
    FEWEST_ROWS,
    Claim,
    Finding,
    Verdict,
)
from philly_analysis.atlas.profile import LACKS, TraceProfile
from philly_analysis.atlas.resampling import FEWEST_BLOCKS, Resampling, resampling
from philly_analysis.results import count
from philly_analysis.trace import SELECTION_CRITERIA, Trace


def evaluate_claim(trace: Trace, claim: Claim, profile: TraceProfile, cluster: str = "") -> Finding:
    """Evaluate one claim on one trace.

    The verdict is undecided for missing tables or columns, an unsuitable sample, too few rows, or
    an interval that includes the threshold. The finding names the reason.

    Parameters
    ----------
    cluster
        Cluster of the trace; empty: the cluster has the trace's name.
    """
    undecided = Finding(claim.name, cluster or profile.name, Verdict.UNDECIDED, source=profile.name)
    if missing := [LACKS.get(n, n) for n in claim.needs if not profile.recorded.get(n)]:
        brief = f"no {missing[0].partition(',')[0]}"
        return replace(undecided, why=f"Lacks {_listed(missing)}.", brief=brief)
    sample = profile.manifest.sample
    criteria = sample.by if sample else ()
    if invalid := [SELECTION_CRITERIA[b] for b in criteria if b in claim.invalid_for]:
        return replace(undecided, why=f"A sample, selected by {_listed(invalid)}.", brief="sample")
    finding = decide(undecided, claim, trace.answer(claim.relation).df())
    if sample and not finding.brief and any(b in claim.biased_by for b in criteria):
        return replace(finding, notes=(sample.how,))
    return finding


def decide(undecided: Finding, claim: Claim, rows: pd.DataFrame, block: str = "") -> Finding:
    """Decide a claim from its rows.

    Parameters
    ----------
    undecided
        Names the claim, the cluster and the source.
    rows
        Rows with the columns of the claim's relation.
    block
        What the column ``user`` holds, in the plural; empty: users.
    """
    groups = claim.measure.groups(rows)
    counts = {group: int(n.sum()) for group, n in groups.items()}
    observed = sum(n.to_numpy(float) for n in groups.values())
    r = resampling(rows, of_users=claim.of_users or bool(block), counts=observed)
    r = replace(r, kind=block or r.kind)
    if why := _too_few(claim, rows, r):
        return replace(undecided, counts=counts, why=why, brief="too few rows")
    effect = r.estimate(claim.measure.statistic(rows, r))
    if claim.measure.upper and effect.low == effect.low:
        effect = replace(effect, high=max(effect.high, claim.measure.upper(rows, r)))
    verdict = claim.verdict(effect)
    return replace(
        undecided,
        verdict=verdict,
        effect=effect,
        counts=counts,
        blocks=r.blocks,
        kind=r.kind,
        why=_reason(claim, effect.low, r) if verdict is Verdict.UNDECIDED else "",
        panel=claim.measure.panel(rows),
    )


def _too_few(claim: Claim, rows: pd.DataFrame, r: Resampling) -> str:
    """Return why the sample is too small: too few observations, events or blocks; else empty."""
    for counts, fewest in (
        (claim.measure.groups, FEWEST_ROWS),
        (claim.measure.events, FEWEST_EVENTS),
    ):
        for group, n in (counts(rows) if counts else {}).items():
            blocks = len(np.unique(r.codes[n.to_numpy(float) > 0]))
            counted = group.replace("gpu_h", "GPU hours")
            if n.sum() < fewest:
                return f"Too few {counted}: {int(n.sum()):,}."
            if blocks < FEWEST_BLOCKS_WITH_ROWS:
                return f"Too few {r.kind} with {counted}: {blocks}."
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
