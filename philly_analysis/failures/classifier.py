"""Finds the cause of a failure in log output: the earliest line of the most telling signature."""

import re
from collections import Counter
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
SHORT_CHARS = 20_000
HINTED_LINES = 10_000  # of more, only so many first and last ones are read
ALIKE_LINES = 250  # and of those with the same hints so many
LONGEST_LINE_CHARS = 500
LONGEST_CHAIN = 40

Role = Literal["root", "cascade", "confirmation"]

_QUIET = re.compile(
    r"\w{0,30}Warning: |\b(?:WARN|WARNING|INFO|DEBUG)\b|^\s{0,8}warning: |^\[[WID](?:\d{3,4}| )"
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
            if _recovered(found, lines):
                recovered.append(found)
            else:
                evidence[found.rule.id] = found
    for found in recovered:
        if _died_soon_after(found, evidence.values()):
            evidence[found.rule.id] = replace(found, rank=RANKS["root"])
    harmless = harmless or bool(recovered)
    ordered = sorted(evidence.values(), key=lambda found: found.preference)
    if not ordered or all(found.rank == RANKS["warning"] for found in ordered):
        return _nothing(benign=harmless or bool(ordered) or _progressed(lines.pieces[-LAST_WORDS:]))
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


def _hinted(lines: Lines) -> Iterator[tuple[int, frozenset[str]]]:
    """Pieces that hold a hint of any signature, with these hints; all others are rejected here."""
    hints = list(rules_by_hint())
    if sum(map(len, lines.pieces)) < SHORT_CHARS:
        # building the automaton for every hint would take longer than looking for each of them
        text = "\n".join(lines.pieces).lower()
        hints = [hint for hint in hints if hint in text]
        if not hints:
            return iter(())
    found = pl.Series(lines.pieces, dtype=pl.String).str.extract_many(
        hints, ascii_case_insensitive=True, overlapping=True
    )
    hinted = (found.list.len() > 0).arg_true()
    if len(hinted) > 2 * HINTED_LINES:
        hinted = hinted.head(HINTED_LINES).append(hinted.tail(HINTED_LINES))
    hints_of = [frozenset(each) for each in found.gather(hinted).to_list()]
    wanted = {*_first(enumerate(hints_of)), *_first(reversed([*enumerate(hints_of)]))}
    return ((piece, hints_of[i]) for i, piece in enumerate(hinted.to_list()) if i in wanted)


def _first(hinted: Iterable[tuple[int, frozenset[str]]]) -> Iterator[int]:
    """Places of lines that are among the first of those with the same hints."""
    met = Counter[frozenset[str]]()
    for place, hints in hinted:
        met[hints] += 1
        if met[hints] <= ALIKE_LINES:
            yield place


@lru_cache(maxsize=4096)
def _rules_of(hints: frozenset[str]) -> tuple[Signature, ...]:
    """Signatures that a line with these hints could match, in the order in which to try them."""
    index = rules_by_hint()
    rules = {rule.order: rule for hint in hints for rule in index[hint.lower()]}
    return tuple(sorted(rules.values(), key=lambda rule: (rule.rank, rule.order)))


def _matches(lines: Lines) -> Iterator[_Evidence]:
    ignored_until, searches = -1, _Searches()
    for piece, hints in _hinted(lines):
        if _IGNORED_BLOCK in lines.pieces[piece]:
            ignored_until = _end_of_ignored(piece, lines)
        if piece <= ignored_until:
            continue
        said = message(lines.pieces[piece])
        for rule in _rules_of(hints):
            if _holds(rule, said, piece, lines, searches):
                yield _Evidence(rule, _rank_in(lines.pieces[piece], rule), piece)
                break


def _rank_in(piece: str, rule: Signature) -> int:
    """Rank of the rule in this piece: what is only logged as a warning is no more than that."""
    if rule.warns or rule.rank < 0 or rule.rank >= RANKS["warning"]:
        return rule.rank
    tag = piece[:_TAG_CHARS]
    quiet = _QUIET.search(tag) is not None and _LOUD.search(tag) is None
    return RANKS["warning"] if quiet else rule.rank


class _Searches:
    """Searches in lines, each made once, however often a line stands in the text or is asked."""

    def __init__(self) -> None:
        self._found: dict[tuple[re.Pattern[str], str], bool] = {}
        self._last: dict[re.Pattern[str], tuple[int, int]] = {}

    def holds(self, pattern: re.Pattern[str], line: str) -> bool:
        asked = (pattern, line)
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = pattern.search(line) is not None
        return found

    def near(self, pattern: re.Pattern[str], pieces: list[str], piece: int) -> bool:
        """Tell whether it is found around a piece; asked of later and later ones."""
        first, end = max(0, piece - LINES_BEFORE), min(len(pieces), piece + LINES_AFTER + 1)
        seen, last = self._last.get(pattern, (0, -1))
        for at in range(max(seen, first), end):
            if self.holds(pattern, pieces[at]):
                last = at
        self._last[pattern] = end, last
        return last >= first


def _holds(rule: Signature, said: str, piece: int, lines: Lines, searches: _Searches) -> bool:
    if not searches.holds(rule.pattern, said):
        return False
    if rule.unless is not None and searches.holds(rule.unless, said):
        return False
    return rule.near is None or searches.near(rule.near, lines.pieces, piece)


def _end_of_ignored(piece: int, lines: Lines) -> int:
    for later in range(piece + 1, min(piece + _IGNORED_LINES, len(lines.pieces))):
        if _EXCEPTION.match(message(lines.pieces[later])):
            return later
    return piece


def _recovered(found: _Evidence, lines: Lines) -> bool:
    pattern = found.rule.recovered
    if pattern is None:
        return False
    after = lines.pieces[found.piece : found.piece + RECOVERY_LINES]
    return any(pattern.search(line) for line in after)


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
    if any(contexts()["success"].search(line) for line in tail):
        return True
    # an exception may stand before lines that were only written late; other trouble does not
    return root.rule.role == "symptom" and _progressed(tail, PROGRESS_LINES)


def _progressed(pieces: list[str], least: int = 1) -> bool:
    return sum(contexts()["progress"].search(piece) is not None for piece in pieces) >= least
