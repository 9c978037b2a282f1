"""Classify a failure by its log output: the first line of the highest-ranked signature decides."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from philly_analysis.failures.context import Text, texts_of
from philly_analysis.failures.hints import Hinted, find_hinted, hints_in
from philly_analysis.failures.lines import message, split_lines
from philly_analysis.failures.reasons import NO_SIGNATURE, tiers_of
from philly_analysis.failures.signature import BY_TABLE_ORDER, RANKS, Signature, rules_by_hint
from philly_analysis.failures.tracebacks import Traceback, Tracebacks
from philly_analysis.study import Tier

BATCH_CHARS = 4_000_000
"""Characters of texts that are classified together; a longer text alone."""
LINES_BEFORE = 30
LINES_AFTER = 10
RECOVERY_LINES = 40
RELAPSE_LINES = 12
PROGRESS_LINES = 3
LONGEST_LINE_CHARS = 500

_QUIET = re.compile(
    r"Warning: |\b(?:WARN|WARNING|INFO|DEBUG)\b|^\s{0,8}warning: |^\[[WID](?:\d{3,4}| )"
    r"|^[WID]\d{4} |^I tensorflow|\[(?:warning|info|debug)\]|level=(?:warn|info|debug)"
)
_LOUD = re.compile(r"NCCL WARN|\bERROR\b|\bFATAL\b|\bCRITICAL\b")
_TAG_CHARS = 200
LOST_CONNECTION = "MPI runtime failure"

_NO_MESSAGE = re.compile(r"[\w.]{1,200}:?$")


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
        The deciding line and its number from 1; "" and 0 if there is none.
    rule
        Id of the signature that decided, or "".
    """

    reason: str
    tiers: tuple[Tier, ...]
    fine: str
    line: str
    line_number: int
    rule: str


@dataclass(frozen=True, slots=True)
class _Evidence:
    rule: Signature
    rank: int
    piece: int
    recovered: bool

    @property
    def preference(self) -> tuple[int, int, int]:
        if self.rank in BY_TABLE_ORDER:
            return self.rank, self.rule.order, self.piece
        return self.rank, self.piece, self.rule.order


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
    evidence: dict[str, _Evidence] = {}
    recovered: list[_Evidence] = []
    benign = ended = False
    last = 0
    for found in _matches(text, hinted):
        if found.rule.role == "benign":
            benign = True
            continue
        last = found.piece
        ended = ended or found.rule.role == "cascade"
        if ended and found.rule.role == "symptom" and found.rule.reason == LOST_CONNECTION:
            found = replace(found, rank=RANKS["consequence"])
        if found.rule.id not in evidence or found.rank < evidence[found.rule.id].rank:
            if found.recovered:
                recovered.append(found)
            else:
                evidence[found.rule.id] = found
    for found in recovered:
        if _failed_again(found, evidence.values()):
            evidence[found.rule.id] = replace(found, rank=RANKS["root"])
    benign = benign or bool(recovered)
    ordered = sorted(evidence.values(), key=lambda found: found.preference)
    if not ordered or all(found.rank == RANKS["warning"] for found in ordered):
        benign = benign or bool(ordered) or _progressed(text, 0)
        return _no_signature(benign=benign)
    root = ordered[0]
    if root.rule.role == "suspicion" and _progressed(text, root.piece):
        return _no_signature(benign=True)
    if root.rank > RANKS["root"] and _completed(root, last + 1, text):
        return _no_signature(benign=True)
    return Failure(
        reason=root.rule.reason,
        tiers=tiers_of(root.rule.reason),
        fine=root.rule.fine,
        line=text.pieces[root.piece].strip()[:LONGEST_LINE_CHARS],
        line_number=text.line_number(root.piece),
        rule=root.rule.id,
    )


def _no_signature(*, benign: bool) -> Failure:
    fine = "benign" if benign else ""
    return Failure(NO_SIGNATURE, tiers_of(NO_SIGNATURE), fine, "", 0, "")


@lru_cache(maxsize=4096)
def _rules_of(hints: frozenset[str]) -> tuple[Signature, ...]:
    """Return the signatures that a line with these hints may match, in order of rank."""
    index = rules_by_hint()
    rules = {rule.order: rule for hint in hints for rule in index[hint]}
    return tuple(sorted(rules.values(), key=lambda rule: (rule.rank, rule.order)))


def _matches(text: Text, hinted: list[Hinted]) -> Iterator[_Evidence]:
    tracebacks = Tracebacks(text, (found.at for found in hinted))

    @cache  # lines repeat
    def matches(rule: Signature, line: str) -> bool:
        if rule.pattern.search(line) is None:
            return False
        return rule.unless is None or rule.unless.search(line) is None

    for at, piece, hints in hinted:
        if at in tracebacks.ignored or at in tracebacks.echoed:
            continue
        line, around = message(piece), tracebacks.found.get(at)
        if around and around.exception == at and _NO_MESSAGE.match(line) and around.source:
            # of an exception without a message, the statement that raised it
            line = f"{line.rstrip(':')}: {around.source}"
            hints |= hints_in(around.source)
        for rule in _rules_of(hints):
            if matches(rule, line) and _near(rule, at, text, around) and not _outside(rule, around):
                yield _Evidence(rule, _rank_in(piece, rule), at, _recovered(rule, at, text))
                break


def _outside(rule: Signature, around: Traceback | None) -> bool:
    return bool(rule.outside and around and rule.outside.search(around.function))


def _near(rule: Signature, at: int, text: Text, around: Traceback | None) -> bool:
    if not rule.near:
        return True
    first, last = at - LINES_BEFORE, at + LINES_AFTER
    if around:
        first, last = min(first, around.first), max(last, around.last)
    return text.count(rule.near, first, last) > 0


def _recovered(rule: Signature, at: int, text: Text) -> bool:
    last = at + RECOVERY_LINES - 1
    return bool(rule.recovered) and text.count(rule.recovered, at, last) > 0


def _rank_in(piece: str, rule: Signature) -> int:
    """Return the rank of a rule in this piece: at most a warning where it is logged as one."""
    if rule.warns or rule.rank < 0 or rule.rank >= RANKS["warning"]:
        return rule.rank
    tag = piece[:_TAG_CHARS]
    quiet = _QUIET.search(tag) is not None and _LOUD.search(tag) is None
    return RANKS["warning"] if quiet else rule.rank


def _failed_again(recovered: _Evidence, evidence: Iterable[_Evidence]) -> bool:
    """Whether more evidence of a failure follows a recovery within a few lines."""
    return any(
        found.rank >= RANKS["implicit"]
        and recovered.piece < found.piece <= recovered.piece + RELAPSE_LINES
        for found in evidence
    )


def _completed(root: _Evidence, first: int, text: Text) -> bool:
    """Whether the lines from the first after the evidence report completion or training."""
    if text.count("success", first, len(text.pieces), tail=True):
        return True
    # buffered progress may be written after an exception, but not after a symptom
    return root.rule.role == "symptom" and _progressed(text, first, PROGRESS_LINES)


def _progressed(text: Text, first: int, least: int = 1) -> bool:
    return text.count("progress", first, len(text.pieces), tail=True) >= least
