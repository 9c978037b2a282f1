"""Detect that a run went on, restarted or completed after a line of its output."""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

from philly_analysis.failures.context import TAIL_LINES, Text
from philly_analysis.failures.lines import is_script_line, message
from philly_analysis.failures.matching import Evidence
from philly_analysis.failures.signature import RANKS

PROGRESS_LINES = 3
RESUMED_LINES = 10
ACTIVE_LINES = 100
RESULT_LINES = 3
CONCLUSION_LINES = 10
_REPORT = re.compile(r"(?:\w{1,40} ){1,6}(?:failed|error|skipped)[:,] ")
"""What a program did and how it ended, before the message of an exception."""
HEAD_LINES = 2
HEAD_CHARS = 16
ALIKE_CHARS = 60
_NUMBERS = re.compile(r"[\d.:]{1,30}")
SCRIPT_LINES = 4
BUFFER_CHARS = 16_384
"""More than a process writes from its buffer after an exception."""
LOST_CONNECTION = "MPI runtime failure"
CONSEQUENCES = frozenset({LOST_CONNECTION, "MPI error", "Core dump", "Invalid memory access"})
"""Consequences of an exception in another process, or of its end."""
_FROM_OUTSIDE = frozenset({"verdict", "interruption"})


def goes_on(
    evidence: Evidence, others: Iterable[Evidence], last: Mapping[str, int], text: Text
) -> bool:
    """Whether a program goes on after a suspicion or warning, a script after a failing line.

    A program that is ended from outside, or by another exception, went on after any line that
    precedes regular output.
    """
    at = last[evidence.rule.id]
    ended = any(last[o.rule.id] > at + TAIL_LINES and _ends_run(o) for o in others)
    if ended and _resumed(at + 1, text):
        return True
    doubtful = evidence.rule.role == "suspicion" or evidence.rank == RANKS["warning"]
    if doubtful and progressed(text, evidence.piece):
        return True
    if evidence.rank > RANKS["suspicion"] or not is_script_line(text.pieces[evidence.piece]):
        return False
    causes = [
        other
        for other in others
        if other.piece > evidence.piece or other.rank == RANKS["interruption"]
    ]
    after = sum(not piece.isspace() for piece in text.pieces[evidence.piece + 1 :] if piece)
    if not causes and evidence.rank < RANKS["suspicion"] and after >= SCRIPT_LINES:
        return True
    return progressed(text, evidence.piece) or any(
        other.rank <= RANKS["interruption"] and not is_script_line(text.pieces[other.piece])
        for other in causes
    )


def _ends_run(evidence: Evidence) -> bool:
    """Whether evidence shows how a run ended: from outside, or by a failure of its own."""
    if evidence.rule.role in _FROM_OUTSIDE:
        return True
    return 0 <= evidence.rank <= RANKS["implicit"] and evidence.rule.reason not in CONSEQUENCES


def completed(root: Evidence, first: int, text: Text) -> bool:
    """Whether the lines from the first after the evidence report completion or training."""
    regular = any(of_later(first, text) for of_later in (_resumed, _restarted, _concluded))
    if regular or _reported(root, first, text):
        return True
    if root.rank <= RANKS["root"]:
        return False
    if text.count("success", first, len(text.pieces), tail=True):
        return True
    # buffered progress may be written after an exception, but not after a symptom
    return root.rule.role == "symptom" and progressed(text, first, PROGRESS_LINES)


def _reported(root: Evidence, first: int, text: Text) -> bool:
    """Whether a program says what went wrong in one line of many, and prints results after it."""
    if root.around or root.rank not in (RANKS["root"], RANKS["symptom"]):
        return False
    words = message(text.pieces[root.piece])
    return (
        _REPORT.match(words) is not None
        and text.count("metric", first, len(text.pieces), tail=True) >= RESULT_LINES
    )


def _resumed(first: int, text: Text) -> bool:
    """Whether regular output fills the end of a log, more than buffers hold at an exception."""
    if len(text.pieces) - first < TAIL_LINES:
        return False
    if sum(map(len, text.pieces[first:])) <= BUFFER_CHARS:
        return False
    return (
        progressed(text, first, RESUMED_LINES)
        or text.count("activity", first, len(text.pieces), tail=True) >= ACTIVE_LINES
    )


def _concluded(first: int, text: Text) -> bool:
    """Whether a log ends as a program does that completed, some lines after the evidence."""
    last = len(text.pieces)
    if last - first < RESUMED_LINES:
        return False
    return text.count("conclusion", max(first, last - CONCLUSION_LINES), last, tail=True) > 0


def _restarted(first: int, text: Text) -> bool:
    """Whether another run was appended to the log: its first lines come again."""
    head = [_alike(piece) for piece in text.pieces[:HEAD_LINES]]
    if first <= HEAD_LINES or min(map(len, head)) < HEAD_CHARS:
        return False
    after = map(_alike, text.pieces[first:])
    return any(pair == (head[0], head[1]) for pair in pairwise(after))


def _alike(piece: str) -> str:
    """Return the start of a line without its numbers."""
    return _NUMBERS.sub("", piece[: 2 * ALIKE_CHARS]).strip()[:ALIKE_CHARS]


def progressed(text: Text, first: int, least: int = 1) -> bool:
    """Whether the lines from `first` on show progress, in at least so many lines."""
    return text.count("progress", first, len(text.pieces), tail=True) >= least
