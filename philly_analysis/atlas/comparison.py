"""Compare a cluster's answers with those of the public clusters, in three sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Finding, Verdict

FEWEST_OTHERS = 2
"""Fewest public clusters that decide a claim for a comparison."""

_SHOWN = 3
_PREDICATES = {
    Verdict.HOLDS: "holds",
    Verdict.REVERSED: "is reversed",
    Verdict.ABSENT: "is practically absent",
}


def compare_clusters(
    name: str, mine: Mapping[str, Finding], others: Mapping[str, Sequence[Finding]]
) -> list[str]:
    """Return three sentences: how far a cluster agrees, where not, and what is extreme.

    Parameters
    ----------
    mine
        The cluster's strongest answer by claim.
    others
        Those of the public clusters.
    """
    compared, unlike, extreme = 0, [], []
    for claim, found in mine.items():
        known = [f for f in others[claim] if f.decided]
        if not found.decided or len(known) < FEWEST_OTHERS:
            continue
        compared += 1
        usual, n = Counter(f.verdict for f in known).most_common(1)[0]
        same = sum(f.verdict is found.verdict for f in known)
        if found.verdict is not usual and same < n:
            unlike.append((same / len(known), claim, len(known) - same, len(known)))
        elif distance := _outside(found, known):
            extreme.append((-distance, claim))
    if not compared:
        return [
            f"{name} cannot be compared with the public clusters: no claim is decided for it and "
            f"for at least {FEWEST_OTHERS} of them."
        ]
    unlike.sort()
    extreme.sort()
    agrees = compared - len(unlike)
    return [
        f"{name} decides {compared} claims that public clusters decide as well, and agrees with "
        f"most of them on {agrees}.",
        _unlike(mine, unlike),
        _extreme(mine, others, extreme),
    ]


def _unlike(mine: Mapping[str, Finding], unlike: Sequence[tuple[float, str, int, int]]) -> str:
    if not unlike:
        return "No verdict is unlike that of most public clusters."
    parts = [
        f"“{CLAIMS[claim].title}” {_PREDICATES[mine[claim].verdict]} "
        f"({_effect(mine[claim])}), unlike on {n} of {total}"
        for _, claim, n, total in unlike[:_SHOWN]
    ]
    more = len(unlike) - len(parts)
    return f"Unlike most: {'; '.join(parts)}{f'; and {more} more' if more > 0 else ''}."


def _extreme(
    mine: Mapping[str, Finding],
    others: Mapping[str, Sequence[Finding]],
    extreme: Sequence[tuple[float, str]],
) -> str:
    if not extreme:
        return "Where the verdicts agree, no effect is beyond the range of the public clusters."
    parts = []
    for _, claim in extreme[:_SHOWN]:
        values = [f.effect.value for f in others[claim] if f.decided]
        text = CLAIMS[claim].format
        parts.append(
            f"“{CLAIMS[claim].title}” ({_effect(mine[claim])}; elsewhere {text(min(values))} to "
            f"{text(max(values))})"
        )
    return f"The verdict agrees and the effect is beyond all others: {'; '.join(parts)}."


def _outside(found: Finding, known: Sequence[Finding]) -> float:
    """Return the gap between the interval and the others' range, in lengths of this range."""
    values = [f.effect.value for f in known]
    low, high = min(values), max(values)
    gap = max(low - found.effect.high, found.effect.low - high, 0.0)
    return gap / ((high - low) or 1.0)


def _effect(finding: Finding) -> str:
    text = CLAIMS[finding.claim].format
    effect = finding.effect
    return f"{text(effect.value)} [{text(effect.low)}, {text(effect.high)}]"
