"""Classify a failure by its log output: the first line of the highest-ranked signature decides."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from philly_analysis.failures.aftermath import (
    CONSEQUENCES,
    LOST_CONNECTION,
    completed,
    goes_on,
    progressed,
)
from philly_analysis.failures.confidence import confidence_of
from philly_analysis.failures.context import Text, texts_of
from philly_analysis.failures.events import LONGEST_LINE_CHARS, Event, Part, describe
from philly_analysis.failures.hints import Hinted, find_hinted
from philly_analysis.failures.lines import is_script_line, rank_of, split_lines
from philly_analysis.failures.matching import Evidence, find_evidence
from philly_analysis.failures.reasons import NO_SIGNATURE, REASONS, tiers_of
from philly_analysis.failures.signature import RANKS, Signature
from philly_analysis.failures.tracebacks import Traceback, Tracebacks
from philly_analysis.study import Tier

BATCH_CHARS = 4_000_000
"""Characters of texts that are classified together; a longer text alone."""
RELAPSE_LINES = 12

UNKNOWN_EXCEPTION = "Traceback from crash"
_BUT_LIBRARIES = frozenset({reason.name for reason in REASONS} - {"Cannot load libraries"})
_BUT_CONNECTIONS = frozenset({reason.name for reason in REASONS} - {LOST_CONNECTION})
_REPORTED_RANK = re.compile(r"\blocal_rank: (\d{1,6})\b")
MESSAGE_LINES = 6
# where MPICH lists its calls, the outer first, the cause last
STACK_LINES = 12
MOST_EVENTS = 50


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason why an attempt failed, by its output.

    Attributes
    ----------
    reason
        One of the study's 22 categories; *No signature* if no line names a cause.
    tiers
        Tiers of the reason, empty if unknown.
    fine
        Finer cause (``comm_timeout``, ``xid_error``, ``no_space``, ...) or "".
    line, line_number
        The deciding line and its number from 1; "" and 0 if no line decided.
    rule
        Id of the signature that decided, or "".
    level
        What the verdict rests on: ``signature``, ``general rule``, ``guess`` (an ending, a fragment
        or a suspicion), ``benign`` (no failure), ``none`` (no line names a cause).
    confidence
        Share of such verdicts that are right, 0 to 1.
    events
        The events in the output in order of lines, the first ones of each rule.
    """

    reason: str
    tiers: tuple[Tier, ...]
    fine: str
    line: str
    line_number: int
    rule: str
    level: str
    confidence: float
    events: tuple[Event, ...]

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Reasons that other events indicate, in order of lines."""
        others = (event.reason for event in self.events if event.part == "consequence")
        return tuple(dict.fromkeys(r for r in others if r not in (self.reason, NO_SIGNATURE, "")))


def classify_text(text: str | bytes) -> Failure:
    """Classify a failure by the output of the attempt, see :func:`classify_texts`."""
    return next(classify_texts([text]))


def classify_texts(texts: Iterable[str | bytes]) -> Iterator[Failure]:
    """Classify failures by the output of the attempts.

    Parameters
    ----------
    texts
        Output of one attempt each, in any encoding and of any length. Texts are read in batches.

    Yields
    ------
    Failure
        *No signature* where no line names a cause. Its fine label is ``benign`` where the
        matching lines are benign or recovered, or all lines show progress.
    """
    for batch in _batches(texts):
        lines = split_lines(batch)
        for text, hinted in zip(texts_of(lines), find_hinted(lines), strict=True):
            yield _classify(text, hinted)


def _batches(texts: Iterable[str | bytes]) -> Iterator[list[str | bytes]]:
    batch: list[str | bytes] = []
    chars = 0
    for text in texts:
        batch.append(text)
        chars += len(text)
        if chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _classify(text: Text, hinted: list[Hinted]) -> Failure:
    tracebacks = Tracebacks(text, (hint.at for hint in hinted))
    matched = list(find_evidence(text, hinted, tracebacks))
    evidence, benign = _weigh(matched, text)
    ordered = sorted(evidence.values(), key=lambda one: one.preference)
    last = {one.rule.id: one.piece for one in matched}
    best = next((one for one in ordered if not goes_on(one, ordered, last, text)), None)
    root = _explained(best, ordered, text) if best else None
    if root is None or all(one.rank == RANKS["warning"] for one in ordered):
        benign, root = benign or bool(ordered) or progressed(text, 0), None
    elif completed(root, _last(matched) + 1, text):
        benign, root = True, None
    events = _events(text, matched, root, tracebacks)
    if root is None:
        level = "benign" if benign else "none"
        fine = "benign" if benign else ""
        confidence = confidence_of(level, "")
        tiers = tiers_of(NO_SIGNATURE)
        return Failure(NO_SIGNATURE, tiers, fine, "", 0, "", level, confidence, events)
    level = "guess" if root.rank >= RANKS["suspicion"] else root.rule.level
    return Failure(
        reason=root.rule.reason,
        tiers=tiers_of(root.rule.reason),
        fine=root.rule.fine,
        line=text.pieces[root.piece].strip()[:LONGEST_LINE_CHARS],
        line_number=text.line_number(root.piece),
        rule=root.rule.id,
        level=level,
        confidence=confidence_of(level, root.rule.role),
        events=events,
    )


def _explained(root: Evidence, others: Iterable[Evidence], text: Text) -> Evidence:
    """Return the line that explains an exception of general cause, among the lines after it."""
    lines = MESSAGE_LINES
    if root.rule.role in ("implicit", "suspicion") and root.rule.reason == UNKNOWN_EXCEPTION:
        unexplaining = CONSEQUENCES | {UNKNOWN_EXCEPTION, NO_SIGNATURE}
    elif root.rule.level == "general rule" and text.pieces[root.piece].rstrip().endswith(":"):
        unexplaining = frozenset({root.rule.reason, NO_SIGNATURE, UNKNOWN_EXCEPTION})
    elif root.rule.id == "import_error":
        unexplaining = _BUT_LIBRARIES
    elif root.rule.id == "mpich_fatal":
        unexplaining, lines = _BUT_CONNECTIONS, STACK_LINES
    else:
        return root
    explains = (
        other
        for other in others
        if root.piece < other.piece <= root.piece + lines
        and other.rank == root.rank
        and other.rule.reason not in unexplaining
    )
    return next(explains, root)


def _weigh(matched: list[Evidence], text: Text) -> tuple[dict[str, Evidence], bool]:
    """Return the best evidence of each rule, and whether the output is benign without it."""
    evidence: dict[str, Evidence] = {}
    recovered: list[Evidence] = []
    benign = ended = False
    crashed = _crashed_ranks(matched, text)
    for match in matched:
        if match.rule.role == "benign":
            benign = True
            continue
        ended = ended or match.rule.role == "cascade"
        if match.rule.role == "symptom" and match.rule.reason == LOST_CONNECTION:
            rank = rank_of(text.pieces[match.piece])
            if ended or (rank and crashed - {rank}):
                match = replace(match, rank=RANKS["consequence"])
        if _is_better(match, evidence.get(match.rule.id), text):
            if match.recovered:
                recovered.append(match)
            else:
                evidence[match.rule.id] = match
    for match in recovered:
        if _failed_again(match, evidence.values()):
            evidence[match.rule.id] = replace(match, rank=RANKS["root"])
    return evidence, benign or bool(recovered)


def _crashed_ranks(matched: list[Evidence], text: Text) -> set[str]:
    """Return the ranks of processes that a launcher reports to have ended by a segfault."""
    reports = (f for f in matched if f.rule.role == "ending" and f.rule.fine == "segfault")
    return {rank for f in reports for rank in _REPORTED_RANK.findall(text.pieces[f.piece])}


def _is_better(match: Evidence, before: Evidence | None, text: Text) -> bool:
    """Whether evidence of a rule outranks earlier evidence, as any does a line of a script."""
    if before is None or match.rank != before.rank:
        return before is None or match.rank < before.rank
    is_line, was_line = (is_script_line(text.pieces[either.piece]) for either in (match, before))
    return was_line and not is_line


def _last(matched: list[Evidence]) -> int:
    return max(
        (f.piece for f in matched if f.rule.role != "benign" and f.rank != RANKS["warning"]),
        default=0,
    )


def _events(
    text: Text, matched: list[Evidence], root: Evidence | None, tracebacks: Tracebacks
) -> tuple[Event, ...]:
    """Describe the root, the first match of each other rule, and ignored exceptions, by line."""
    events: dict[int, Event] = {}

    def add(at: int, part: Part, rule: Signature | None, around: Traceback | None) -> None:
        if at not in events and len(events) < MOST_EVENTS:
            events[at] = describe(text, at, part, rule, around)

    if root:
        add(root.piece, "root", root.rule, root.around)
    seen = {root.rule.id} if root else set()
    for match in matched:
        if match.rule.id in seen or match.rule.role == "fragment":
            continue
        seen.add(match.rule.id)
        is_noise = match.rank < 0 or match.rank == RANKS["warning"] or match.recovered
        part: Part = "noise" if is_noise or root is None else "consequence"
        add(match.piece, part, match.rule, match.around)
    for at in sorted(tracebacks.ignored):
        if tracebacks.is_headline(at):
            add(at, "noise", None, Traceback(at, at))
    return tuple(events[at] for at in sorted(events))


def _failed_again(recovered: Evidence, evidence: Iterable[Evidence]) -> bool:
    """Whether more evidence of a failure follows a recovery within a few lines."""
    return any(
        later.rank >= RANKS["implicit"]
        and recovered.piece < later.piece <= recovered.piece + RELAPSE_LINES
        for later in evidence
    )
