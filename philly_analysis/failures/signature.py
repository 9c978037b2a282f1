"""Read the ordered table of failure signatures from its TOML files."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))


PRECEDENCE = _read("precedence")
RANKS: dict[str, int] = PRECEDENCE["ranks"]
"""Rank of a match by its role: the lowest rank wins, within a rank the earliest line."""
# Supervisors report an end in any order; for these ranks the order of the table decides.
BY_TABLE_ORDER = frozenset({RANKS["ending"], RANKS["cascade"]})

_PATTERNS = {"pattern", "unless", "inside", "outside"}


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """One rule: a pattern in a line of output, and the reason that it indicates.

    Attributes
    ----------
    id
        Stable name of the rule.
    order
        Place in the table; the smaller one wins where two rules of a role match one line.
    pattern
        Searched in the message, ignoring case; every quantifier is bounded.
    hints
        Lower-case literals, one of which is in every line that the pattern matches.
    reason, fine
        The study's category; a finer cause, or "".
    role
        One of `RANKS`.
    frameworks
        Programs that print it.
    example
        Output on which this rule decides.
    unless
        Pattern that excludes the match in the same line.
    near
        Name of the context pattern that must match in the lines around.
    recovered
        Name of the context pattern that cancels the match in later lines.
    inside
        Pattern of the innermost function of a traceback; the rule then matches only its exception.
    outside
        Pattern of the innermost function of a traceback that excludes the match in its exception.
    warns
        Keeps its rank where the line is tagged as a warning or as information.
    level
        ``signature``, or ``general rule`` for documented codes and names.
    source
        Documentation of a general rule.
    """

    id: str
    order: int
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    reason: str
    frameworks: tuple[str, ...]
    example: str
    fine: str = ""
    role: str = "root"
    unless: re.Pattern[str] | None = None
    near: str = ""
    recovered: str = ""
    inside: re.Pattern[str] | None = None
    outside: re.Pattern[str] | None = None
    warns: bool = False
    level: str = "signature"
    source: str = ""

    @property
    def rank(self) -> int:
        """Rank of the role: the smallest is nearest to the cause."""
        return RANKS[self.role]


@cache
def contexts() -> dict[str, str]:
    """Return the context patterns by name.

    The patterns are written for polars' regex engine, which searches many lines in linear time.
    Word boundaries are ASCII for any text.
    """
    texts = _read("signatures/contexts")
    return {name: "(?i)" + text.replace(r"\b", r"(?-u:\b)") for name, text in texts.items()}


@cache
def signatures() -> tuple[Signature, ...]:
    """Read the table, in order of precedence."""
    table: list[Signature] = []
    for name in PRECEDENCE["files"]:
        family = _read(name)
        for entry in family.pop("signature"):
            rule = family | entry
            if codes := rule.pop("codes", []):
                rule["pattern"] = rule["pattern"].replace("{codes}", "|".join(codes))
                rule["example"] = rule["example"].replace("{code}", codes[0])
            patterns = {k: re.compile(rule[k], re.IGNORECASE) for k in _PATTERNS & rule.keys()}
            lists = {k: tuple(rule[k]) for k in ("hints", "frameworks")}
            table.append(Signature(**rule | patterns | lists, order=len(table)))
    return tuple(table)


@cache
def rules_by_hint() -> dict[str, tuple[Signature, ...]]:
    """Return, by hint, the signatures that a line containing it may match."""
    index: dict[str, list[Signature]] = {}
    for rule in signatures():
        for hint in rule.hints:
            index.setdefault(hint, []).append(rule)
    return {hint: tuple(rules) for hint, rules in index.items()}
