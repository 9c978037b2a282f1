"""Find the lines of a text that match a signature or a general rule, in their context."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from philly_analysis.failures.context import Text
from philly_analysis.failures.hints import Hinted, hints_in
from philly_analysis.failures.lines import is_input, message, without_bar
from philly_analysis.failures.signature import BY_TABLE_ORDER, RANKS, Signature, rules_by_hint
from philly_analysis.failures.tracebacks import Traceback, Tracebacks

LINES_BEFORE = 30
LINES_AFTER = 10
RECOVERY_LINES = 40
EXCEPTION_HINT = frozenset({"exception"})

_QUIET = re.compile(
    r"Warning: |(?<![=_\w])(?:WARN|WARNING|INFO|DEBUG)\b|^\s{0,8}warning: |^\[[WID](?:\d{3,4}| )"
    r"|^[WID]\d{4} |^I tensorflow|[\[<](?:warn(?:ing)?|info|debug)[\]>]|level=(?:warn|info|debug)"
)
_LOUD = re.compile(
    r"NCCL WARN|WARNING: Open MPI|Traceback \(most|\bERROR\b|\bFATAL\b|\bCRITICAL\b"
    r"|: [EF] (?:external|tensorflow|xla)/|Error reported to Coordinator"
    r"|\*\*\* (?:Aborted at|SIG[A-Z]{3,5}\b)"
)
_RETRIED = re.compile(r"\b(?:retrying|will retry|trying again)\b", re.IGNORECASE)
_WARNED = re.compile(r":\d{1,6}: \w{0,40}Warning: ")
_WARNS = re.compile(r"^\s{1,8}(?:warnings\.)?warn\(")
_R_WARNS = re.compile(r"^(?:Warning messages?:|In addition: Warning messages?:)")
WARNING_LINES = 4
# the head of a message of several lines, as GROMACS, OpenFOAM, R, MATLAB and others write it
_HEADS = re.compile(
    r"(?:\b(?i:(?:fatal|internal) error)\b[^:]{0,30}:(?: \([\w.-]{1,40}\))?"
    r"|\bERROR:|^\s{0,8}Error in .{1,150}\) ?:|^Error using {1,4}\S{1,80}(?: \(line \d{1,6}\))?"
    r"|^Inconsistency in user input:"
    r"|^Exception in (?:\w{1,20} )?(?:worker|process|thread)\b.{0,60}:)\s{0,4}$"
)
HEADED_LINES = 2
_TAG_CHARS = 200
# a list of strings, as programs print their data
_LISTED = re.compile(r"^[^'\"\[\]]{0,60}\[\s?(?:'[^']{0,400}'|\"[^\"]{0,400}\"),")

_NO_MESSAGE = re.compile(r"[\w.]{1,200}:?$")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece on which a rule matches, its rank there, and the traceback around it."""

    rule: Signature
    rank: int
    piece: int
    recovered: bool

    around: Traceback | None

    @property
    def preference(self) -> tuple[int, int, int]:
        """Order by rank, and within a rank by place in the output."""
        if self.rank in BY_TABLE_ORDER:
            return self.rank, self.rule.order, self.piece
        return self.rank, self.piece, self.rule.order


@lru_cache(maxsize=4096)
def _rules_of(hints: frozenset[str]) -> tuple[Signature, ...]:
    """Return the signatures that a line with these hints may match, in order of rank."""
    index = rules_by_hint()
    rules = {rule.order: rule for hint in hints for rule in index[hint]}
    return tuple(sorted(rules.values(), key=lambda rule: (rule.rank, rule.order)))


def find_evidence(text: Text, hinted: list[Hinted], tracebacks: Tracebacks) -> Iterator[Evidence]:
    """Yield the pieces on which a rule matches, each with the rule of the lowest rank."""

    @cache  # lines repeat
    def matches(rule: Signature, line: str) -> bool:
        if rule.pattern.search(line) is None:
            return False
        return rule.unless is None or rule.unless.search(line) is None

    for at, piece, hints in _with_exceptions(text, hinted, tracebacks):
        around = tracebacks.by_piece.get(at)
        cut = around.raised if around and around.quoted == at else ""
        if at in tracebacks.ignored or (at in tracebacks.echoed and not cut) or is_input(piece):
            continue
        line = cut or message(piece)
        raised = around if around and around.exception == at else None
        if raised:
            line = line.lstrip()
        elif not cut and _is_headed(text, at):
            line = f"Error: {line.lstrip()}"
        if raised and _NO_MESSAGE.match(line) and raised.source:
            # of an exception without a message, the statement that raised it
            line = f"{line.rstrip(':')}: {raised.source}"
            hints |= hints_in(raised.source)
        for part in filter(None, (line, _bar_of(piece))):
            listed = _LISTED.match(part) is not None
            rules = _rules_of(hints)
            relays = [rule for rule in rules if rule.role == "cascade"]
            for rule in rules:
                if (
                    not (listed and rule.level == "general rule")
                    and matches(rule, part)
                    and _fits(rule, raised)
                    and _near(rule, at, text, around)
                    # a vague rule gives way to a launcher's report of other processes
                    and (raised or not _is_vague(rule) or not any(matches(r, part) for r in relays))
                ):
                    recovered = _recovered(rule, at, text)
                    yield Evidence(rule, _rank_in(text, at, rule, raised), at, recovered, around)
                    break


def _is_vague(rule: Signature) -> bool:
    """Whether a rule knows only that something failed, as a launcher says of others as well."""
    return rule.level == "general rule" and rule.reason == "Traceback from crash"


def _bar_of(piece: str) -> str:
    """Return the progress bar at the start of a piece, which may show a metric."""
    return piece[: len(piece) - len(without_bar(piece))].rstrip()


def _with_exceptions(text: Text, hinted: list[Hinted], tracebacks: Tracebacks) -> Iterator[Hinted]:
    """Yield the pieces with hints, and the exceptions of tracebacks, whatever their names."""
    exceptions = {
        block.quoted if block.raised else block.exception for block in tracebacks.by_piece.values()
    } - {-1}
    seen = {hint.at for hint in hinted}
    named = [Hinted(at, text.pieces[at], frozenset()) for at in exceptions - seen]
    for hint in sorted((*hinted, *named)) if named else hinted:
        if hint.at in exceptions:
            yield hint._replace(hints=hint.hints | EXCEPTION_HINT)
        else:
            yield hint


def _fits(rule: Signature, raised: Traceback | None) -> bool:
    """Whether the innermost function of the traceback that ends here is one for the rule."""
    if rule.inside and not (raised and rule.inside.search(raised.function)):
        return False
    return not (rule.outside and raised and rule.outside.search(raised.function))


def _near(rule: Signature, at: int, text: Text, around: Traceback | None) -> bool:
    if not rule.near:
        return True
    first, last = at - LINES_BEFORE, at + LINES_AFTER
    if around:
        first, last = min(first, around.first), max(last, around.last)
    return text.count(rule.near, first, last) > 0


def _recovered(rule: Signature, at: int, text: Text) -> bool:
    last = at + RECOVERY_LINES - 1
    return bool(rule.recovered) and text.count(rule.recovered, at, last) > 0


def _is_headed(text: Text, at: int) -> bool:
    """Whether a piece follows a line that only announces an error."""
    before = text.pieces[max(0, at - HEADED_LINES) : at]
    return any(
        (piece.startswith("Error using ") or piece.rstrip().endswith((":", ")")))
        and _HEADS.search(piece[-_TAG_CHARS:])
        for piece in before
    )


def _is_warned(text: Text, at: int) -> bool:
    """Whether a piece is part of a warning, of Python or R, whose message has several lines."""
    before = text.pieces[max(0, at - WARNING_LINES) : at]
    if text.pieces[at].startswith("  ") and any(map(_R_WARNS.match, before)):
        return True
    after = text.pieces[at + 1 : at + 1 + WARNING_LINES]
    return any(map(_WARNS.match, after)) and any(map(_WARNED.search, before))


def _is_probed(text: Text, at: int) -> bool:
    """Whether a script that configures a build probes before and after a piece."""
    before = text.count("probe", at - LINES_BEFORE, at)
    return before > 0 and text.count("probe", at + 1, at + LINES_BEFORE) > 0


def _rank_in(text: Text, at: int, rule: Signature, raised: Traceback | None) -> int:
    """Return the rank of a rule in this piece: at most a warning where it is logged as one.

    At most a suspicion where the program says that it tries again.
    """
    if rule.warns or rule.rank < 0 or rule.rank >= RANKS["warning"]:
        return rule.rank
    if (raised and raised.quiet) or _is_probed(text, at):
        return RANKS["warning"]
    tag = without_bar(text.pieces[at])[:_TAG_CHARS]
    quiet = _QUIET.search(tag) is not None and _LOUD.search(tag) is None
    if quiet or _is_warned(text, at):
        return RANKS["warning"]
    if _RETRIED.search(text.pieces[at]):
        return max(rule.rank, RANKS["suspicion"])
    return rule.rank
