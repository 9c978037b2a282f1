"""Split log output into numbered lines without colours, for matching."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# Longer lines are split: no signature needs more of a line than this.
PIECE_CHARS = 4096
_PIECE = re.compile(rf"(?s).{{1,{PIECE_CHARS}}}")

_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]{0,24}[ -/]{0,2}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|.)")
_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)

# Prefixes of loggers, launchers and schedulers: a rank, a tag, a time, a process.
_PREFIX = re.compile(
    r"""\s{0,40}(?:
        \[[\d,]{1,12}\]<\w{1,8}>:?                     # mpirun --tag-output
      | \[(?:default)?\d{0,5}\]:                       # torchrun --tee
      | \[?rank\s?\d{1,6}\]?:
      | \(\w{1,60}(?:,)?\ (?:pid|ip|rank)=[^)]{1,80}\) # Ray, SkyPilot
      | \d{1,5}:\s                                     # srun --label
      | \[\s{0,12}\d{1,8}\.\d{3,9}\]                   # kernel clock
      | \[\w{3}\ \w{3}\s{1,2}\d{1,2}\ [\d:]{8}\ \d{4}\]
      | [\[(]?\d{4}[-/]\d\d[-/]\d\d[T\ ,]{1,2}[\d:]{8}(?:[.,]\d{1,9})?(?:Z|[+-][\d:]{4,5})?[\])]?:?
      | \w{3}\s{1,2}\d{1,2}\ \d\d:\d\d:\d\d\ [\w.-]{1,60}(?=\ \w{1,20}(?:\[\d{1,8}\])?:)  # syslog
      | \^C                                            # a terminal's echo of Ctrl-C
      | <stderr>:? | <stdout>:? | kernel: | \|{1,2}\s
      | (?:ERROR|CRITICAL|FATAL|WARNING|INFO)\ (?:\d\d-\d\d\ [\d:]{8}\ )?\[[\w./-]{1,100}:\d{1,6}\]
      | std(?:out|err)\ [FP]\s                          # a container's log in Kubernetes
      | \{"(?:[^{}]{1,200}")?(?:log|msg|message)":\ ?"  # a log in JSON
      | [a-z][\w.]{0,30}-[\w.-]{1,40}\s{1,30}\|\s        # docker compose
      | [a-z][a-z.]{1,20}-[\w.-]{0,30}\d:\s             # pdsh: a machine
      | (?:-\ (?:[\w.]{1,60}\ -\ )?|\|\ )?\[?(?:ERROR|CRITICAL|FATAL|[Ee]rror)\]?
        (?:\ -|:[\w.]{1,60}:|\ \[[^\]]{1,100}\]|\s{1,5}\|\ [\w.:<>]{1,100}\ -)?\s?
        (?=[\w.]{0,120}(?:Error|Exception)\b|No\ module\ named\ )  # a logger's level
      | [EF]\d{4}\ [^\]]{10,80}\]\s(?=[\w.]{0,120}(?:Error|Exception)\b|No\ module\ named\ )
      | [a-z][\w./-]{0,40}\[\d{1,8}\]:\s               # a service in a system's journal
      | >\s                                            # a quotation
      | what\(\):                                       # of a C++ exception
      | Reason:\s                                        # of an abort of Charm++
      | E\ {3,12}(?=[\w.]{0,120}(?:Error|Exception)\b)   # pytest
      | (?:\[PG\ [^\]]{1,80}\]\ )?Process\ group\ watchdog\ thread\ terminated\ with\ exception:
    )""",
    re.VERBOSE,
)
_RANK = re.compile(
    r"\s{0,40}(?:\[?rank\s?(\d{1,6})\]?:|\[(?:default)?(\d{1,5})\]:|\[\d{1,9},(\d{1,9})\]<\w"
    r"|(\d{1,5}):\s|\(\w{1,60},?\s(?:pid|ip|rank)=(\d{1,12}))"
)
_BAR = re.compile(
    r"[^|\n]{0,60}?\d{1,3}%\|[^|\n]{0,200}\|\s?[\d.]{1,12}\w?/[\d.]{1,12}\w?\s\[[^\]\n]{1,80}\]\s{0,8}"
)
# what a user types: in Python, IPython, a shell; source code that a compiler quotes
_INPUT = re.compile(
    r"\s{0,8}(?:>>> |In \[\d{1,5}\]: "
    r"|(?:\([\w.-]{1,40}\) )?\[?[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#\n]{0,100}[$#] "
    r"|\d{1,6} \| {1,80}[\w*!&(])"
)
# a shell about a line of a script, unless a process ended there
_SCRIPT_LINE = re.compile(
    r"^(?:\S{1,200}: line \d{1,6}: (?!\s{0,10}\d{1,10} [A-Z])"
    r"|(?:\S{0,200}[/.])?(?:da|a)?sh: \d{1,6}: "
    r"|(?:cp|mv|rm|ln|ls|cat|cd|sed|awk|tar|find|grep|head|tail|touch|mkdir|chmod|chown): "
    r"|fatal: (?:Authentication failed|could not read|unable to access|repository|not a git)"
    r"|error: (?:subprocess-exited-with-error|metadata-generation-failed)"
    r"|CommandNotFoundError: Your shell|Lmod has detected the following error"
    r"|ERROR: (?:Failed building wheel|Could not (?:find|build|install)|No matching distribution))"
)


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of several texts in sequence, in pieces of limited length.

    Attributes
    ----------
    table
        One row per piece: index (from 0), text (index of its text), number (of its line in the
        text, from 1), piece.
    starts
        Index of the first piece of each text, and the number of pieces.
    """

    table: "pl.DataFrame"
    starts: list[int]

    @property
    def pieces(self) -> "pl.Series":
        """The pieces' texts."""
        return self.table["piece"]


def decode(text: str | bytes) -> str:
    """Decode text by its byte-order mark, else as UTF-8 with replacements."""
    if isinstance(text, str):
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    for mark, encoding in _BOMS:
        if text.startswith(mark):
            return text[len(mark) if encoding != "utf-8-sig" else 0 :].decode(encoding, "replace")
    # UTF-16 without a mark, as Windows shells write it: every second byte of ASCII is zero
    head = text[:400]
    if len(head) > 7 and head[1::2].count(0) > len(head) * 0.45 and head[::2].count(0) == 0:
        return text.decode("utf-16-le", "replace")
    return text.decode("utf-8", "replace")


def split_lines(texts: Iterable[str | bytes]) -> Lines:
    r"""Split texts into lines without colours; a carriage return starts a new piece of its line."""
    import polars as pl

    decoded = [_ANSI.sub("", decode(text)).replace("\r\n", "\n") for text in texts]
    lines = pl.DataFrame({"piece": pl.Series(decoded, dtype=pl.String)})
    lines = lines.with_row_index("text").with_columns(pl.col("piece").str.split("\n"))
    before = pl.col("piece").list.len().cum_sum().shift(fill_value=0)
    lines = lines.with_columns(before=before).explode("piece").with_row_index("number", offset=1)
    lines = lines.with_columns(pl.col("number") - pl.col("before")).drop("before")
    if any("\r" in text for text in decoded):
        lines = _split_pieces(lines)
    pieces = lines["piece"]
    long = (pieces.str.len_chars() > PIECE_CHARS).arg_true()
    if len(long):
        pieces = pieces.scatter(
            long, ["\r".join(_PIECE.findall(line)) for line in pieces.gather(long)]
        )
        lines = _split_pieces(lines.with_columns(pieces))
    starts = lines["text"].search_sorted(pl.Series(range(len(decoded) + 1)))
    return Lines(lines.with_row_index(), starts.to_list())


def _split_pieces(lines: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    return lines.with_columns(pl.col("piece").str.split("\r")).explode("piece")


def message(piece: str) -> str:
    """Strip the prefixes of a piece (rank, launcher tag, time, process) and what relays it."""
    return piece[_end_of_prefixes(piece) :].strip()


def without_bar(piece: str) -> str:
    """Strip a progress bar, after which another writer went on in the same line."""
    match = _BAR.match(piece) if "%|" in piece else None
    return piece[match.end() :] if match else piece


def is_input(piece: str) -> bool:
    """Whether a piece is what a user typed rather than what a program printed."""
    return _INPUT.match(piece) is not None


def unprefixed(piece: str) -> str:
    """Strip the prefixes of a piece and keep the indentation after them."""
    start = _end_of_prefixes(piece)
    return piece[start:].removeprefix(" ").rstrip() if start else piece.rstrip()


def is_script_line(piece: str) -> bool:
    """Whether a shell reports an error in a line of a script, after which the script goes on."""
    return _SCRIPT_LINE.match(message(piece)) is not None


def rank_of(piece: str) -> str:
    """Return the rank or process that a launcher names before a line, or ""."""
    match = _RANK.match(piece)
    return next(filter(None, match.groups()), "") if match else ""


def _end_of_prefixes(piece: str) -> int:
    start = len(piece) - len(without_bar(piece))
    for _ in range(5):
        match = _PREFIX.match(piece, start)
        if match is None:
            break
        start = match.end()
    return start
