"""Finds the cause of a failure in log output: the earliest line of the most telling signature."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import polars as pl

from philly_analysis.failures.lines import Lines, cut, message
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
DEATH_LINES = 12
LAST_WORDS = 200
PROGRESS_LINES = 3
HINTED_LINES = 10_000  # of more, only so many first and last ones are read
ALIKE_LINES = 100  # and of those with the same hints so many
ALIKE_CHARS = 10_000  # or, of long ones, fewer: two at least
MOST_LINES = 4_000  # of all kinds together; of each the first and the last ones
LONGEST_LINE_CHARS = 500
LONGEST_CHAIN = 40

Role = Literal["root", "cascade", "confirmation"]

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
class Link:
    """One piece of evidence in the chain: what it is to the root, which rule, which line."""

    role: Role
    rule: str
    line_number: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed, as far as its output tells.

    Attributes
    ----------
    reason
        One of the study's 22 categories; *No signature* if the text tells no cause.
    tiers
        Tiers of the reason, empty if unknown.
    fine
        Finer cause (``comm_timeout``, ``xid_error``, ``no_space``, ...) or "".
    line, line_number
        The deciding line and its number from 1; "" and 0 if there is none.
    rule
        Id of the signature that decided, or "".
    chain
        The evidence in order of lines: the root, its confirmations, the cascades.
    """

    reason: str
    tiers: tuple[Tier, ...]
    fine: str
    line: str
    line_number: int
    rule: str
    chain: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class _Evidence:
    rule: Signature
    rank: int
    piece: int
    undone: bool

    @property
    def preference(self) -> tuple[int, int, int]:
        if self.rank in BY_TABLE_ORDER:
            return self.rank, self.rule.order, self.piece
        return self.rank, self.piece, self.rule.order


def classify_text(text: str | bytes) -> Failure:
    """Reason of the failure that log output tells of.

    Parameters
    ----------
    text
        Output of one attempt, of any encoding and length; it is only read.

    Returns
    -------
    Failure
        *No signature* where the text names no cause, with fine label ``benign`` where what it
        says is harmless, recovered from, or nothing but progress.
    """
    lines = cut(text)
    evidence: dict[str, _Evidence] = {}
    recovered: list[_Evidence] = []
    harmless = False
    last = 0
    for found in _matches(lines):
        if found.rule.role == "harmless":
            harmless = True
            continue
        last = found.piece
        if found.rule.id not in evidence or found.rank < evidence[found.rule.id].rank:
            if found.undone:
                recovered.append(found)
            else:
                evidence[found.rule.id] = found
    for found in recovered:
        if _died_soon_after(found, evidence.values()):
            evidence[found.rule.id] = replace(found, rank=RANKS["root"])
    harmless = harmless or bool(recovered)
    ordered = sorted(evidence.values(), key=lambda found: found.preference)
    if not ordered or all(found.rank == RANKS["warning"] for found in ordered):
        return _nothing(
            benign=harmless or bool(ordered) or _progressed(lines.pieces.tail(LAST_WORDS))
        )
    root = ordered[0]
    if root.rank > RANKS["root"] and _went_on(root, last, lines):
        return _nothing(benign=True)
    return Failure(
        reason=root.rule.reason,
        tiers=tiers_of(root.rule.reason),
        fine=root.rule.fine,
        line=lines.pieces[root.piece].strip()[:LONGEST_LINE_CHARS],
        line_number=lines.numbers[root.piece],
        rule=root.rule.id,
        chain=_chain(root, ordered, lines),
    )


def _nothing(*, benign: bool) -> Failure:
    fine = "benign" if benign else ""
    return Failure(NO_SIGNATURE, tiers_of(NO_SIGNATURE), fine, "", 0, "", ())


def _chain(root: _Evidence, ordered: list[_Evidence], lines: Lines) -> tuple[Link, ...]:
    links = []
    for found in sorted(ordered, key=lambda found: found.piece)[:LONGEST_CHAIN]:
        same = found.rule.reason == root.rule.reason
        role: Role = "root" if found is root else "confirmation" if same else "cascade"
        links.append(Link(role, found.rule.id, lines.numbers[found.piece]))
    return tuple(links)


def _hinted(lines: Lines) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Pieces that hold a hint of any signature, with these hints; all others are rejected here."""
    hints, said = list(rules_by_hint()), pl.col("said").str
    # lower case costs less than hints that ignore case
    pieces = lines.pieces.str.to_lowercase().to_frame("said").with_row_index("piece")
    if len(pieces) > 2 * HINTED_LINES:
        pieces = pieces.filter(said.contains_any(hints))
    if len(pieces) > 2 * HINTED_LINES:
        pieces = pl.concat([pieces.head(HINTED_LINES), pieces.tail(HINTED_LINES)])
    found = pieces.select(
        "piece", hints=said.extract_many(hints, overlapping=True), chars=said.len_chars()
    ).filter(pl.col("hints").list.len() > 0)
    words = pl.col("hints")
    if sum(found["chars"].to_list()) > LONGEST_LINE_CHARS * len(found):
        # long lines hold the same words in other orders; among short ones a sort does not pay
        words = words.list.eval(pl.element().unique().sort())
    found = found.with_columns(kind=words.list.join("\n"))
    found = found.filter(_ends(ALIKE_LINES))
    if len(found) > MOST_LINES:
        found = found.filter(_ends(max(1, MOST_LINES // (2 * found["kind"].n_unique()))))
    texts = lines.pieces.gather(found["piece"])
    for (piece, each), text in zip(found.select("piece", "hints").iter_rows(), texts, strict=True):
        yield piece, text, frozenset(each)


def _ends(lines: int) -> pl.Expr:
    """Tell which are among the first so many lines of a kind, or the last: those of few words."""
    chars = pl.col("chars")
    found = [
        (chars.cum_count(reverse=back) <= lines) & (chars.cum_sum(reverse=back) <= ALIKE_CHARS)
        for back in (False, True)
    ]
    return pl.any_horizontal(found).over("kind")


@lru_cache(maxsize=4096)
def _rules_of(hints: frozenset[str]) -> tuple[Signature, ...]:
    """Signatures that a line with these hints could match, in the order in which to try them."""
    index = rules_by_hint()
    rules = {rule.order: rule for hint in hints for rule in index[hint]}
    return tuple(sorted(rules.values(), key=lambda rule: (rule.rank, rule.order)))


def _matches(lines: Lines) -> Iterator[_Evidence]:
    ignored_until, searches, around = -1, _Searches(), _Surroundings(lines.pieces)
    for piece, text, hints in _hinted(lines):
        if _IGNORED_BLOCK in text:
            ignored_until = _end_of_ignored(piece, lines)
        if piece <= ignored_until:
            continue
        said = message(text)
        for rule in _rules_of(hints):
            if _holds(rule, said, piece, searches, around):
                undone = around.recovered(rule, piece)
                yield _Evidence(rule, _rank_in(text, rule), piece, undone)
                break


def _rank_in(piece: str, rule: Signature) -> int:
    """Rank of the rule in this piece: what is only logged as a warning is no more than that."""
    if rule.warns or rule.rank < 0 or rule.rank >= RANKS["warning"]:
        return rule.rank
    tag = piece[:_TAG_CHARS]
    quiet = _QUIET.search(tag) is not None and _LOUD.search(tag) is None
    return RANKS["warning"] if quiet else rule.rank


class _Searches:
    """Searches in lines, each made once, however often a line stands in the text.

    Patterns are told apart by their identity: a pattern's hash reads the whole of it.
    """

    def __init__(self) -> None:
        self._found = defaultdict[int, dict[str, bool]](dict)

    def holds(self, pattern: re.Pattern[str], line: str) -> bool:
        known = self._found[id(pattern)]
        found = known.get(line)
        if found is None:
            found = known[line] = pattern.search(line) is not None
        return found


class _Surroundings:
    """Where the contexts stand that signatures ask for, each looked for once in all lines."""

    def __init__(self, pieces: pl.Series) -> None:
        self._pieces = pieces
        self._places: dict[str, pl.Series] = {}

    def near(self, rule: Signature, piece: int) -> bool:
        return not rule.near or self._holds(rule.near, piece - LINES_BEFORE, piece + LINES_AFTER)

    def recovered(self, rule: Signature, piece: int) -> bool:
        last = piece + RECOVERY_LINES - 1
        return bool(rule.recovered) and self._holds(rule.recovered, piece, last)

    def _holds(self, context: str, first: int, last: int) -> bool:
        places = self._places.get(context)
        if places is None:
            places = self._places[context] = self._pieces.str.contains(context).arg_true()
        at = bisect_left(places, first)
        return at < len(places) and places[at] <= last


def _holds(
    rule: Signature, said: str, piece: int, searches: _Searches, around: _Surroundings
) -> bool:
    if not searches.holds(rule.pattern, said):
        return False
    if rule.unless is not None and searches.holds(rule.unless, said):
        return False
    return around.near(rule, piece)


def _end_of_ignored(piece: int, lines: Lines) -> int:
    for later in range(piece + 1, min(piece + _IGNORED_LINES, len(lines.pieces))):
        if _EXCEPTION.match(message(lines.pieces[later])):
            return later
    return piece


def _died_soon_after(recovered: _Evidence, evidence: Iterable[_Evidence]) -> bool:
    """Whether the recovery was none: the next trouble stands right below it."""
    return any(
        found.rank >= RANKS["implicit"]
        and recovered.piece < found.piece <= recovered.piece + DEATH_LINES
        for found in evidence
    )


def _went_on(root: _Evidence, last: int, lines: Lines) -> bool:
    """Whether the job says after the last trace of trouble that it completed, or trains on."""
    tail = lines.pieces[max(last + 1, len(lines.pieces) - LAST_WORDS) :]
    if tail.str.contains(contexts()["success"]).any():
        return True
    # an exception may stand before lines that were only written late; other trouble does not
    return root.rule.role == "symptom" and _progressed(tail, PROGRESS_LINES)


def _progressed(pieces: pl.Series, least: int = 1) -> bool:
    return pieces.str.contains(contexts()["progress"]).sum() >= least
