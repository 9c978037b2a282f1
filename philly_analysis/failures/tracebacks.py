"""Read Python tracebacks in output: frames, source lines, the exception, exceptions ignored."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from philly_analysis.failures.context import Text
from philly_analysis.failures.lines import rank_of, unprefixed

WALK_LINES = 200
"""Lines that are read from the start of a traceback to its exception."""
BOX_LINES = 40
"""Lines after a statement that raises in which a formatted traceback names the exception."""
MESSAGE_LINES = 10
"""Lines that are read of an exception's message."""

_HEADER = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s{0,40}File "[^"]{1,300}", line \d{1,7}(?:, in (\S{1,200}))?')
# a frame that the terminal's or the logger's width wraps
_OPEN_FRAME = re.compile(r'^\s{0,40}File (?:"[^"]{1,300}|"[^"]{1,300}", line (?:\d{0,7}, i?n?)?)$')
WRAPPED_LINES = 2
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Za-z_]\w{0,60}"
    r"(?:\(\w{1,60}\)|(?: \(see above.{0,20}\)))?(?::|$)"
)
# an exception that lost its place at the left margin, as pasted output does
_CLASS = re.compile(
    r"^(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt)(?::\s|$)"
)
# source code as tracebacks, rich and IPython quote it
_QUOTED = re.compile(
    r"^\s{1,40}raise\s|^\s{0,4}[│|]\s{1,4}(?:❱\s)?\s{0,6}\d{1,6}\s[│|]|^-{2,6}> ?\d{1,6}\s"
)
_RAISED = re.compile(r"^raise ([A-Za-z_][\w.]{1,200})\((.{0,1000})")
# the line that raises in a traceback of rich or IPython
_ARROWED = re.compile(
    r"^\s{0,4}(?:[│|]\s{1,4}❱\s{0,6}\d{1,6}\s[│|][\s│|]{0,80}|-{2,6}> ?\d{1,6}\s{1,40})(raise\s.*)"
)
_LOGGING_ERROR_END = "--- End of logging error"
CALL_STACK_LINES = 100
_IGNORED = re.compile(
    r"^Exception (?:ignored (?:in|on)|.{1,200}most likely raised during interpreter shutdown)"
    r"|^(?:.{1,80}\])?--- Logging error|^Error in (?:atexit|sys\.excepthook)"
)
_IGNORED_LINE = re.compile(r"^Exception .{1,400} ignored$")
# the level of a logger before a traceback, or in the line before it, which says what went wrong
_QUIET_HEAD = re.compile(r"\b(?:WARN|WARNING|INFO|DEBUG)\b")
_WARNED_HEAD = re.compile(
    r"(?:\b(?:WARN|WARNING)\b|\[W \d).{0,200}?(?i:\b(?:error|fail|exception|could not|unable to)\b)"
)
HEAD_CHARS = 300
_RELATIONS = {
    "During handling of the above exception": "raised while handling",
    "The above exception was the direct cause": "caused by",
}


@dataclass(slots=True)
class Traceback:
    """A traceback in output.

    Attributes
    ----------
    first, last
        First and last piece of the traceback.
    exception
        Piece that names the exception; -1 if the output ends earlier.
    function, source, quoted
        Function and source line of the innermost frame, or "", and the line's piece, or -1.
    relation
        Relation to the previous traceback: ``caused by``, ``raised while handling``, or "".
    quiet
        Whether a logger writes it below the level of an error.
    """

    first: int
    last: int
    exception: int = -1
    function: str = ""
    source: str = ""
    quoted: int = -1
    relation: str = ""
    quiet: bool = False

    @property
    def raised(self) -> str:
        """The exception that the innermost frame raises, if the output ends before its line."""
        raised = None if self.exception >= 0 else _RAISED.match(self.source)
        return f"{raised.group(1)}: {raised.group(2)}" if raised else ""


class Tracebacks:
    """Tracebacks of a text.

    Parameters
    ----------
    text
        The text.
    starts
        Pieces with words of tracebacks, in order.

    Attributes
    ----------
    by_piece
        Tracebacks by the numbers of their pieces, without ignored tracebacks.
    echoed
        Pieces that quote source code.
    ignored
        Pieces of exceptions that Python reports as ignored.
    """

    def __init__(self, text: Text, starts: Iterable[int]) -> None:
        self.by_piece: dict[int, Traceback] = {}
        self.echoed: set[int] = set()
        self.ignored: set[int] = set()
        self._pieces = text.pieces
        for at in starts:
            line = unprefixed(text.pieces[at])
            if at in self.by_piece or at in self.ignored:
                continue
            if _IGNORED_LINE.match(line):
                self.ignored.add(at)
            elif _IGNORED.match(line):
                block, pieces = self._read(at)
                self.ignored.update(pieces)
                self.ignored.update(self._logged(block.last + 1))
            elif _HEADER in line or _FRAME.match(line):
                block, pieces = self._read(at)
                after = self._pieces[block.last + 1 : block.last + 2]
                if after and _LOGGING_ERROR_END in after[0]:
                    self.ignored.update(pieces)
                else:
                    self.by_piece.update(dict.fromkeys(pieces, block))
            elif _QUOTED.match(line):
                self.echoed.add(at)
                arrowed = _ARROWED.match(line)
                if arrowed and not self._named_after(at):
                    source = arrowed.group(1).rstrip(" │|")
                    self.by_piece[at] = Traceback(at, at, source=source, quoted=at)

    def _named_after(self, at: int) -> bool:
        """Whether the lines after a quoted statement name an exception."""
        after = map(unprefixed, self._pieces[at + 1 : at + 1 + BOX_LINES])
        return any(_CLASS.match(line) for line in after)

    def _logged(self, first: int) -> range:
        """Return the pieces in which the logging of Python says what it could not log."""
        after = self._pieces[first : first + CALL_STACK_LINES]
        if not after or not after[0].startswith("Call stack:"):
            return range(0)
        ends = (at for at, piece in enumerate(after) if piece.startswith("Arguments:"))
        return range(first, first + next(ends, len(after) - 1) + 1)

    def is_headline(self, at: int) -> bool:
        """Whether a piece reports an exception as ignored, and is no part of the exception."""
        line = unprefixed(self._pieces[at])
        return bool(_IGNORED.match(line) or _IGNORED_LINE.match(line))

    def _read(self, first: int) -> tuple[Traceback, list[int]]:
        """Read a traceback from its first piece, and return it with its pieces."""
        block = Traceback(first, first, relation=self._relation(first), quiet=self._quiet(first))
        rank, framed, after_frame = rank_of(self._pieces[first]), False, False
        is_open = False
        pieces: list[int] = []
        head = unprefixed(self._pieces[first])
        indent = head[: len(head) - len(head.lstrip())] if _HEADER in head else ""
        for at in range(first, min(first + WALK_LINES, len(self._pieces))):
            piece = self._pieces[at]
            if rank_of(piece) != rank:
                continue  # interleaved output of another rank
            line = unprefixed(piece).removeprefix(indent)
            if at != first and _IGNORED.match(line):
                break
            if is_open:
                is_open, after_frame = False, True
            elif _OPEN_FRAME.match(line):
                framed = is_open = True
                block.function, block.source = "", ""
            elif frame := _FRAME.match(line):
                framed = after_frame = True
                block.function, block.source = frame.group(1) or "", ""
            elif at == first or (_HEADER in line and not framed):
                pass
            elif framed and not after_frame and _CLASS.match(line.strip()):
                block.exception = at
                pieces.append(at)
                break
            elif framed and (line[:1].isspace() or (after_frame and not _EXCEPTION.match(line))):
                if after_frame:
                    block.source, block.quoted = line.strip(), at
                after_frame = False
                self.echoed.add(at)
            elif _EXCEPTION.match(line) and _HEADER not in line:
                block.exception = at
                pieces.append(at)
                break
            elif framed and self._continues(at):
                self.echoed.add(at)
            else:
                break
            pieces.append(at)
        block.last = pieces[-1]
        if block.exception >= 0:
            pieces += self._message(block, rank)
        return block, pieces

    def _continues(self, at: int) -> bool:
        """Whether frames follow a piece, which then is the end of a wrapped line."""
        after = map(unprefixed, self._pieces[at + 1 : at + 1 + WRAPPED_LINES])
        return any(_FRAME.match(line) or _OPEN_FRAME.match(line) for line in after)

    def _message(self, block: Traceback, rank: str) -> list[int]:
        """Return the indented pieces that continue an exception's message."""
        lines = []
        for at in range(block.last + 1, min(block.last + 1 + MESSAGE_LINES, len(self._pieces))):
            piece = self._pieces[at]
            if rank_of(piece) != rank or not unprefixed(piece)[:1].isspace():
                break
            lines.append(at)
        block.last = lines[-1] if lines else block.last
        return lines

    def _quiet(self, first: int) -> bool:
        head = self._pieces[first].partition(_HEADER)[0]
        if _QUIET_HEAD.search(head[-HEAD_CHARS:]):
            return True
        before = self._pieces[first - 1][:HEAD_CHARS] if first else ""
        return _WARNED_HEAD.search(before) is not None

    def _relation(self, first: int) -> str:
        for at in range(max(0, first - 3), first):
            for words, relation in _RELATIONS.items():
                if words in self._pieces[at]:
                    return relation
        return ""
