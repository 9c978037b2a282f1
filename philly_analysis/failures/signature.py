"""Reads the ordered table of signatures from the TOML files beside it."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# The order of the files is the precedence between reasons that one line could mean:
# what is harmless first, then the specific before the generic.
PRECEDENCE = (
    "harmless",
    "gpu_ecc_error",
    "cuda_version_mismatch",
    "cannot_load_libraries",
    "import_error",
    "output_node_error",
    "model_checkpoint_error",
    "model_diverged",
    "cpu_out_of_memory",
    "gpu_out_of_memory",
    "invalid_memory_access",
    "cuda_initialization_failed",
    "job_preempted",
    "permission_error",
    "semantic_error",
    "syntax_error",
    "incorrect_inputs",
    "cuda_failure",
    "mpi_error",
    "mpi_runtime_failure",
    "core_dump",
    "no_signature",
    "traceback_from_crash",
)

# How much a match says about the cause: the lowest rank wins, within a rank the earliest line.
RANKS = {
    "harmless": -1,  # no failure at all; the line is not read further
    "confirmation": 0,  # kernel, driver, scheduler or container runtime names the cause
    "root": 1,  # the program names the cause
    "symptom": 2,  # explicit, but often the consequence of another rank's failure
    "verdict": 2,  # the scheduler ends the job for a reason that is no category of the study
    "implicit": 2,  # an exception that says where, not why
    "warning": 3,  # counts only beside other evidence of a failure
    "ending": 4,  # how a process ended
    "fragment": 5,  # the header or frames of a traceback whose end is not there
    "interruption": 5,  # someone ended the process from outside without saying why
    "cascade": 6,  # a launcher or scheduler reports that another process ended
}
# Supervisors report an end in any order, so that here the order of the table decides.
BY_TABLE_ORDER = frozenset({RANKS["ending"], RANKS["cascade"]})

_SHORTEST_HINT = 4


@dataclass(frozen=True, slots=True)
class Signature:
    """One rule: a pattern in a line of output and what it means.

    Attributes
    ----------
    id
        Stable name of the rule.
    order
        Place in the table; the smaller wins where two rules of a role match one line.
    pattern
        Searched in the message, ignoring case; every quantifier is bounded.
    hints
        Lower-case literals, one of which is in every line that the pattern matches.
    reason, fine
        The study's category and the finer modern cause, or "".
    role
        One of `RANKS`.
    frameworks
        Programs that print it.
    example
        Output on which this rule decides.
    unless
        Pattern that forbids the match in the same line.
    near
        One of the contexts, which must be found in the lines around.
    recovered
        One of the contexts, which in later lines undoes the match.
    warns
        Counts even where the line is tagged as a warning or as information.
    """

    id: str
    order: int
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    reason: str
    fine: str
    role: str
    frameworks: tuple[str, ...]
    example: str
    unless: re.Pattern[str] | None
    near: str
    recovered: str
    warns: bool

    @property
    def rank(self) -> int:
        """Rank of the role: smaller is nearer to the cause."""
        return RANKS[self.role]


def literal_hint(pattern: str) -> str:
    """Longest run of literal characters outside groups and classes that any match must hold."""
    runs, run, depth, position = [], "", 0, 0
    while position < len(pattern):
        char = pattern[position]
        step = 2 if char == "\\" else 1
        if char == "[":
            step = pattern.index("]", position + 2) - position + 1
        literal = pattern[position + 1] if step == 2 and char == "\\" else char
        depth += (char == "(") - (char == ")")
        plain = char not in "\\[]().^$|?*+{}" or (char == "\\" and not literal.isalnum())
        if char == "|" and depth == 0:
            return ""
        if char in "?*{":
            run = run[:-1]
        if plain and depth == 0:
            run += literal
        else:
            runs.append(run)
            run = ""
            if char == "{":
                step = pattern.index("}", position) - position + 1
        position += step
    return max([*runs, run], key=len).lower()


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    return re.compile(pattern, re.IGNORECASE) if pattern else None


def _read(name: str) -> dict[str, Any]:
    path = files("philly_analysis.failures") / "signatures" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def contexts() -> dict[str, str]:
    """Return named patterns of the surroundings that signatures refer to.

    They are for the engine of polars, which finds them in many lines at once and in linear time;
    with ends of words in ASCII also where a line holds more than that.
    """
    found = _read("contexts")
    return {name: "(?i)" + text.replace(r"\b", r"(?-u:\b)") for name, text in found.items()}


@cache
def signatures() -> tuple[Signature, ...]:
    """Read the whole table, in order."""
    table: list[Signature] = []
    for name in PRECEDENCE:
        family = _read(name)
        for entry in family.pop("signature"):
            rule = family | entry
            hints = tuple(rule.get("hints", ())) or (literal_hint(rule["pattern"]),)
            if min(map(len, hints)) < _SHORTEST_HINT and "hints" not in rule:
                raise ValueError(f"signature {rule['id']} of {name}.toml needs hints of its own")
            table.append(
                Signature(
                    id=rule["id"],
                    order=len(table),
                    pattern=re.compile(rule["pattern"], re.IGNORECASE),
                    hints=hints,
                    reason=rule["reason"],
                    fine=rule.get("fine", ""),
                    role=rule.get("role", "root"),
                    frameworks=tuple(rule["frameworks"]),
                    example=rule["example"],
                    unless=_compiled(rule.get("unless")),
                    near=contexts()[rule["near"]] if "near" in rule else "",
                    recovered=contexts()[rule["recovered"]] if "recovered" in rule else "",
                    warns=rule.get("warns", False),
                )
            )
    return tuple(table)


@cache
def rules_by_hint() -> dict[str, tuple[Signature, ...]]:
    """For each hint, the signatures that a line holding it could match."""
    index: dict[str, list[Signature]] = {}
    for rule in signatures():
        for hint in rule.hints:
            index.setdefault(hint, []).append(rule)
    return {hint: tuple(rules) for hint, rules in index.items()}
