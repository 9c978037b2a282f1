"""List the most frequent lines of failed output that no signature explains."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.failures.lines import message
from philly_analysis.failures.signature import signatures
from philly_analysis.results import Fact, Result
from philly_analysis.trace import MANIFEST, Trace

LONGEST_LINE_CHARS = 200
LAST_LINES = 5
"""Lines at the end of an output that no rule explains."""

_VARIABLE = re.compile(
    r"0x[0-9a-fA-F]{1,16}|(?<![\w.])(?:/[\w.@+<>-]{1,100}){2,20}|\d{1,20}(?:[.,:]\d{1,20}){0,6}"
)
_FRAME = re.compile(r'^\s|^File "|^Traceback \(')


def last_lines(text: str) -> str:
    """Return the last lines of an output that are not blank."""
    lines = [line[: 2 * LONGEST_LINE_CHARS] for line in text.split("\n") if line.strip()]
    return "\n".join(lines[-LAST_LINES:])


def is_explained(rule: str | None) -> bool:
    """Whether a verdict rests on a signature that names a cause."""
    return rule in _specific()


@cache
def _specific() -> frozenset[str]:
    named = ("confirmation", "root", "verdict", "symptom", "implicit")
    return frozenset(r.id for r in signatures() if r.level == "signature" and r.role in named)


def unexplained_of(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield reason and excerpt of the failures of a trace that no signature explains.

    Raises
    ------
    InputError
        The trace has no failed output.
    """
    if "failures" not in trace.tables:
        raise InputError("the trace has no failed output: ingest it with failures=…")
    rows = trace.sql("select reason, rule, excerpt from failures where excerpt is not null")
    for reason, rule, excerpt in rows.fetchall():
        if not is_explained(rule):
            yield reason, excerpt


def count_lines(excerpts: Iterable[tuple[str, str]]) -> Result:
    """Count the lines of excerpts, with numbers and paths left out.

    Parameters
    ----------
    excerpts
        Reason and masked lines of each output that no signature explains.

    Returns
    -------
    Result
        One row per line: outputs that have it, the reason assigned to the first output, line (with
        ``*`` for numbers and paths), example.
    """
    import pandas as pd

    outputs: defaultdict[str, int] = defaultdict(int)
    first: dict[str, tuple[str, str]] = {}
    read = 0
    for reason, excerpt in excerpts:
        read += 1
        lines = {_pattern_of(line): line for line in excerpt.splitlines() if _is_message(line)}
        for pattern, line in lines.items():
            outputs[pattern] += 1
            first.setdefault(pattern, (reason, line.strip()[:LONGEST_LINE_CHARS]))
    ordered = sorted(outputs, key=lambda pattern: (-outputs[pattern], pattern))
    table = pd.DataFrame(
        [(outputs[p], first[p][0], p, first[p][1]) for p in ordered],
        columns=["outputs", "reason", "line", "example"],
    )
    fact = Fact("unexplained", read, "outputs that no signature explains")
    return Result(name="classify", table=table, facts=(fact,))


def _is_message(line: str) -> bool:
    return bool(line.strip()) and _FRAME.search(message(line)) is None


def _pattern_of(line: str) -> str:
    return _VARIABLE.sub("*", message(line))[:LONGEST_LINE_CHARS]


def is_trace(path: Path) -> bool:
    """Whether a folder is a trace."""
    return (path / MANIFEST).is_file()
