"""Classify a failure by its log output: the first line of the highest-ranked signature decides."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import polars as pl

from philly_analysis.failures.lines import Lines, message, split_lines
from philly_analysis.failures.reasons import NO_SIGNATURE, tiers_of
from philly_analysis.failures.signature import (
    BY_TABLE_ORDER,
    RANKS,
    Signature,
    contexts,
    rules_by_hint,
)
from philly_analysis.study import Tier

LINES_BEFORE = 30
LINES_AFTER = 10
RECOVERY_LINES = 40
RELAPSE_LINES = 12
TAIL_LINES = 200
PROGRESS_LINES = 3
HINTED_LINES = 10_000  # lines with hints that are read at each end of a longer log
ALIKE_LINES = 100  # lines with equal hints that are searched at each end
ALIKE_CHARS = 10_000  # characters of these, which limits long lines
MOST_LINES = 4_000  # lines searched in all, from both ends of each kind
LONGEST_LINE_CHARS = 500

_QUIET = re.compile(
    r"Warning: |\b(?:WARN|WARNING|INFO|DEBUG)\b|^\s{0,8}warning: |^\[[WID](?:\d{3,4}| )"
    r"|^[WID]\d{4} |^I tensorflow|\[(?:warning|info|debug)\]|level=(?:warn|info|debug)"
)
_LOUD = re.compile(r"NCCL WARN|\bERROR\b|\bFATAL\b|\bCRITICAL\b")
_TAG_CHARS = 200
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt)\b"
)
_IGNORED_BLOCK = "Exception ignored in"
_IGNORED_LINES = 20


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
    """Classify a failure by the output of the attempt.

    Parameters
    ----------
    text
        Output of one attempt, in any encoding and of any length.

    Returns
    -------
    Failure
        *No signature* where no line names a cause. Its fine label is ``benign`` where the
        matching lines are benign or recovered, or all lines show progress.
    """
    lines = split_lines(text)
    evidence: dict[str, _Evidence] = {}
    recovered: list[_Evidence] = []
    benign = False
    last = 0
    for found in _matches(lines):
        if found.rule.role == "benign":
            benign = True
            continue
        last = found.piece
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
        benign = benign or bool(ordered) or _progressed(lines.pieces.tail(TAIL_LINES))
        return _no_signature(benign=benign)
    root = ordered[0]
    if root.rank > RANKS["root"] and _completed(root, last, lines):
        return _no_signature(benign=True)
    return Failure(
        reason=root.rule.reason,
        tiers=tiers_of(root.rule.reason),
        fine=root.rule.fine,
        line=lines.pieces[root.piece].strip()[:LONGEST_LINE_CHARS],
        line_number=lines.numbers[root.piece],
        rule=root.rule.id,
    )


def _no_signature(*, benign: bool) -> Failure:
    fine = "benign" if benign else ""
    return Failure(NO_SIGNATURE, tiers_of(NO_SIGNATURE), fine, "", 0, "")


def _hinted(lines: Lines) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Yield the pieces that contain a hint of any signature, with these hints."""
    hints, text = list(rules_by_hint()), pl.col("text").str
    # lower-casing the text is faster than a search that ignores case
    pieces = lines.pieces.str.to_lowercase().to_frame("text").with_row_index("piece")
    if len(pieces) > 2 * HINTED_LINES:
        pieces = pieces.filter(text.contains_any(hints))
    if len(pieces) > 2 * HINTED_LINES:
        pieces = pl.concat([pieces.head(HINTED_LINES), pieces.tail(HINTED_LINES)])
    found = pieces.select(
        "piece", hints=text.extract_many(hints, overlapping=True), chars=text.len_chars()
    ).filter(pl.col("hints").list.len() > 0)
    words = pl.col("hints")
    if sum(found["chars"].to_list()) > LONGEST_LINE_CHARS * len(found):
        # long lines repeat the same hints in other orders; short lines are not worth a sort
        words = words.list.eval(pl.element().unique().sort())
    found = found.with_columns(kind=words.list.join("\n"))
    found = found.filter(_ends(ALIKE_LINES))
    if len(found) > MOST_LINES:
        found = found.filter(_ends(max(1, MOST_LINES // (2 * found["kind"].n_unique()))))
    originals = lines.pieces.gather(found["piece"])
    rows = found.select("piece", "hints").iter_rows()
    for (piece, each), original in zip(rows, originals, strict=True):
        yield piece, original, frozenset(each)


def _ends(lines: int) -> pl.Expr:
    """Select the first and the last lines of each kind, within a number of characters."""
    chars = pl.col("chars")
    found = [
        (chars.cum_count(reverse=back) <= lines) & (chars.cum_sum(reverse=back) <= ALIKE_CHARS)
        for back in (False, True)
    ]
    return pl.any_horizontal(found).over("kind")


@lru_cache(maxsize=4096)
def _rules_of(hints: frozenset[str]) -> tuple[Signature, ...]:
    """Return the signatures that a line with these hints may match, in order of rank."""
    index = rules_by_hint()
    rules = {rule.order: rule for hint in hints for rule in index[hint]}
    return tuple(sorted(rules.values(), key=lambda rule: (rule.rank, rule.order)))


def _matches(lines: Lines) -> Iterator[_Evidence]:
    ignored_until, context = -1, _Context(lines.pieces)

    @cache  # lines repeat
    def matches(rule: Signature, line: str) -> bool:
        if rule.pattern.search(line) is None:
            return False
        return rule.unless is None or rule.unless.search(line) is None

    for piece, text, hints in _hinted(lines):
        if _IGNORED_BLOCK in text:
            ignored_until = _end_of_ignored(piece, lines)
        if piece <= ignored_until:
            continue
        stripped = message(text)
        for rule in _rules_of(hints):
            if matches(rule, stripped) and context.near(rule, piece):
                recovered = context.recovered(rule, piece)
                yield _Evidence(rule, _rank_in(text, rule), piece, recovered)
                break


def _rank_in(piece: str, rule: Signature) -> int:
    """Return the rank of a rule in this piece: at most a warning where it is logged as one."""
    if rule.warns or rule.rank < 0 or rule.rank >= RANKS["warning"]:
        return rule.rank
    tag = piece[:_TAG_CHARS]
    quiet = _QUIET.search(tag) is not None and _LOUD.search(tag) is None
    return RANKS["warning"] if quiet else rule.rank


class _Context:
    """Places of the context patterns, each searched once in all lines."""

    def __init__(self, pieces: pl.Series) -> None:
        self._places = cache(lambda context: pieces.str.contains(context).arg_true())

    def near(self, rule: Signature, piece: int) -> bool:
        return not rule.near or self._contains(rule.near, piece - LINES_BEFORE, piece + LINES_AFTER)

    def recovered(self, rule: Signature, piece: int) -> bool:
        last = piece + RECOVERY_LINES - 1
        return bool(rule.recovered) and self._contains(rule.recovered, piece, last)

    def _contains(self, context: str, first: int, last: int) -> bool:
        places = self._places(context)
        at = bisect_left(places, first)
        return at < len(places) and places[at] <= last


def _end_of_ignored(piece: int, lines: Lines) -> int:
    for later in range(piece + 1, min(piece + _IGNORED_LINES, len(lines.pieces))):
        if _EXCEPTION.match(message(lines.pieces[later])):
            return later
    return piece


def _failed_again(recovered: _Evidence, evidence: Iterable[_Evidence]) -> bool:
    """Whether more evidence of a failure follows a recovery within a few lines."""
    return any(
        found.rank >= RANKS["implicit"]
        and recovered.piece < found.piece <= recovered.piece + RELAPSE_LINES
        for found in evidence
    )


def _completed(root: _Evidence, last: int, lines: Lines) -> bool:
    """Whether the lines after the last evidence report completion or further training."""
    tail = lines.pieces[max(last + 1, len(lines.pieces) - TAIL_LINES) :]
    if tail.str.contains(contexts()["success"]).any():
        return True
    # buffered progress may be written after an exception, but not after a symptom
    return root.rule.role == "symptom" and _progressed(tail, PROGRESS_LINES)


def _progressed(pieces: pl.Series, least: int = 1) -> bool:
    return pieces.str.contains(contexts()["progress"]).sum() >= least
