"""Compare a cluster's answers with the public clusters' answers, in three sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Finding
from philly_analysis.results import count

FEWEST_OTHERS = 2
"""Fewest public clusters that decide a claim for a comparison."""

_SHOWN = 3


def compare_clusters(
    name: str, mine: Mapping[str, Finding], others: Mapping[str, Sequence[Finding]]
) -> list[str]:
    """Return three sentences: how far a cluster agrees, where not, and what is extreme.

    If no claim can be compared, return two sentences: that fact, and why.

    Parameters
    ----------
    mine
        The cluster's strongest answer by claim.
    others
        The public clusters' strongest answers by claim.
    """
    compared, unlike, extreme = 0, [], []
    for claim, answer in mine.items():
        decided = [f for f in others[claim] if f.decided]
        if not answer.decided or len(decided) < FEWEST_OTHERS:
            continue
        compared += 1
        usual, n = Counter(f.verdict for f in decided).most_common(1)[0]
        same = sum(f.verdict is answer.verdict for f in decided)
        if answer.verdict is not usual and same < n:
            unlike.append((same / len(decided), claim, same, len(decided)))
        elif distance := _outside(answer, decided):
            extreme.append((-distance, claim))
    if not compared:
        return [
            f"{name} cannot be compared with the public clusters: no claim is decided for it and "
            f"for at least {FEWEST_OTHERS} of them.",
            _undecided(mine),
        ]
    unlike.sort()
    extreme.sort()
    agrees = compared - len(unlike)
    return [
        f"{count(compared, 'claim')} {'is' if compared == 1 else 'are'} decided for {name} and for "
        f"at least {FEWEST_OTHERS} public clusters: its verdict is the verdict of most on "
        f"{agrees} of {compared}.",
        _unlike(mine, unlike),
        _extreme(mine, others, extreme),
    ]


def _undecided(mine: Mapping[str, Finding]) -> str:
    reasons = Counter(f.brief or "too wide an interval" for f in mine.values() if not f.decided)
    listed = ", ".join(f"{reason} ({n})" for reason, n in reasons.most_common(_SHOWN))
    return f"Most frequent reasons for undecided claims: {listed}." if listed else ""


def _unlike(mine: Mapping[str, Finding], unlike: Sequence[tuple[float, str, int, int]]) -> str:
    if not unlike:
        return "No verdict contradicts most public clusters."
    parts = [
        f"“{CLAIMS[claim].title}” {mine[claim].verdict} ({_effect(mine[claim])}), as on "
        f"{same or 'none'} of {total}"
        for _, claim, same, total in unlike[:_SHOWN]
    ]
    if more := len(unlike) - len(parts):
        parts.append(f"and {more} more")
    return f"Unlike most public clusters: {'; '.join(parts)}."


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


def _outside(answer: Finding, decided: Sequence[Finding]) -> float:
    """Return the gap from the interval to the other clusters' range, in lengths of the range."""
    values = [f.effect.value for f in decided]
    low, high = min(values), max(values)
    gap = max(low - answer.effect.high, answer.effect.low - high, 0.0)
    return gap / ((high - low) or 1.0)


def _effect(finding: Finding) -> str:
    return CLAIMS[finding.claim].format_interval(finding.effect)
