"""Split log output into numbered lines without colours, for matching."""

import re
from dataclasses import dataclass

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
      | <stderr>:? | <stdout>:? | kernel: | \|{1,2}\s
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Lines:
    """Pieces of text and, for each, the number of the line that it comes from (from 1)."""

    pieces: pl.Series
    numbers: pl.Series


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


def split_lines(text: str | bytes) -> Lines:
    r"""Split text into lines without colours; a carriage return starts a new piece of its line."""
    decoded = decode(text)
    if "\x1b" in decoded:
        decoded = _ANSI.sub("", decoded)
    decoded = decoded.replace("\r\n", "\n")
    lines = pl.DataFrame({"piece": [decoded]}).select(_split("\n")).explode("piece")
    lines = lines.with_row_index("number", offset=1)
    if "\r" in decoded:
        lines = lines.with_columns(_split("\r")).explode("piece")
    pieces = lines["piece"]
    long = (pieces.str.len_chars() > PIECE_CHARS).arg_true()
    if len(long):
        pieces = pieces.scatter(
            long, ["\r".join(_PIECE.findall(line)) for line in pieces.gather(long)]
        )
        lines = lines.with_columns(pieces).with_columns(_split("\r")).explode("piece")
    return Lines(lines["piece"], lines["number"])


def _split(at: str) -> pl.Expr:
    return pl.col("piece").str.split(at)


def message(piece: str) -> str:
    """Strip up to five prefixes from a piece (rank, launcher tag, time, process)."""
    start = 0
    for _ in range(5):
        found = _PREFIX.match(piece, start)
        if found is None:
            break
        start = found.end()
    return piece[start:].strip() if start else piece.rstrip()
