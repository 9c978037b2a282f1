"""Every error this package raises on purpose.

PhillyError
├── InputError      raw files that cannot be read as what they should be
├── TraceError      a folder that is not a trace, or one that cannot be written
├── MissingTable    a question that needs a table this trace does not have
├── QueryError      SQL that is refused or does not run
├── UnknownName     a word the user typed that names nothing here
├── ModelError      a model that cannot be fitted, read or sampled
├── ExportError     a workload that a format cannot carry
└── SimulationError a simulation that cannot start or go on
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PhillyError(Exception):
    """Root of the tree: the message says what was asked, what was found, what to try."""


class InputError(PhillyError):
    """Raw files that cannot be read as what they should be."""


class TraceError(PhillyError):
    """A folder that is not a trace, or a trace that cannot be written."""


class MissingTable(PhillyError):
    """A question that needs a table this trace does not have."""


class QueryError(PhillyError):
    """SQL that is refused or does not run."""


class UnknownName(PhillyError):
    """A word the user typed that names nothing here."""

    def __init__(self, kind: str, word: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = get_close_matches(word, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        super().__init__(f"no {kind} named {word!r}{hint} There are: {', '.join(names) or 'none'}")


class ModelError(PhillyError):
    """A model that cannot be fitted, read or sampled."""


class ExportError(PhillyError):
    """A workload that a format cannot carry."""


class SimulationError(PhillyError):
    """A simulation that cannot start or go on."""
