"""Describe the events in output: which is the root of a failure, which its consequence or noise."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from philly_analysis.failures.context import Text
from philly_analysis.failures.lines import rank_of
from philly_analysis.failures.signature import Signature
from philly_analysis.failures.tracebacks import Traceback

Part = Literal["root", "consequence", "noise"]

LONGEST_LINE_CHARS = 500
_TIME = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d[T ,]{1,2}\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\w{3}\s{1,2}\d{1,2} \d\d:\d\d:\d\d(?: \d{4})?|\[\s{0,12}\d{1,8}\.\d{6}\]|\b\d\d:\d\d:\d\d\b"
)
_HEAD_CHARS = 120
_TABLE = tomllib.loads(Path(__file__).with_name("event_kinds.toml").read_text("utf-8"))
_KINDS = {kind: re.compile(pattern) for kind, pattern in _TABLE.items()}


@dataclass(frozen=True, slots=True)
class Event:
    """A line of output on which a rule matched, or that reports an exception as ignored.

    Attributes
    ----------
    part
        ``root``, ``consequence`` of a failure, or ``noise``, which no failure caused.
    kind
        Writer of the line: traceback, driver, kernel, scheduler, kubernetes, launcher, native or
        program.
    rank
        Rank or process that a launcher names before the line, or "".
    time
        Time as the line gives it, or "".
    relation
        Relation of the traceback to the previous traceback: ``caused by``,
        ``raised while handling``, or "".
    reason, rule
        What the rule indicates, and its id; "" of an ignored exception.
    line, line_number
        The line and its number from 1.
    """

    part: Part
    kind: str
    rank: str
    time: str
    relation: str
    reason: str
    rule: str
    line: str
    line_number: int


def describe(
    text: Text, at: int, part: Part, rule: Signature | None, around: Traceback | None
) -> Event:
    """Describe a piece of a text as an event."""
    piece = text.pieces[at]
    time = _TIME.search(piece[:_HEAD_CHARS])
    return Event(
        part=part,
        kind="traceback" if around else _kind_of(piece),
        rank=rank_of(piece),
        time=time.group().strip("[ ]") if time else "",
        relation=around.relation if around else "",
        reason=rule.reason if rule else "",
        rule=rule.id if rule else "",
        line=piece.strip()[:LONGEST_LINE_CHARS],
        line_number=text.line_number(at),
    )


def _kind_of(piece: str) -> str:
    head = piece[:LONGEST_LINE_CHARS]
    kinds = (kind for kind, pattern in _KINDS.items() if pattern.search(head))
    return next(kinds, "program")
