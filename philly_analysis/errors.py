"""Every error this package raises on purpose.

PhillyError
├── InputError         raw files that cannot be read as what they should be
├── TraceError         a folder that is not a trace, or one that cannot be written
├── MissingTableError  a question that needs a table this trace does not have
├── QueryError         SQL that is refused or does not run
├── UnknownNameError   a word the user typed that names nothing here
├── WorkloadError      jobs that cannot be run, or a load that they cannot offer
├── OutputError        an answer that cannot be written as it was asked for
├── ModelError         a model that cannot be fitted, read or sampled
├── ExportError        a workload that a format cannot carry
├── AskedElsewhereError  an attribute that is called otherwise; an AttributeError as well
└── SimulationError    a simulation that cannot start or go on
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PhillyError(Exception):
    """Root of the tree: the message says what was asked, what was found, what to try."""


class InputError(PhillyError):
    """Raw files that cannot be read as what they should be."""


class TraceError(PhillyError):
    """A folder that is not a trace, or a trace that cannot be written."""


class MissingTableError(PhillyError):
    """A question that needs a table this trace does not have."""


class QueryError(PhillyError):
    """SQL that is refused or does not run."""


class UnknownNameError(PhillyError):
    """A word the user typed that names nothing here."""

    def __init__(self, kind: str, word: str, known: Iterable[str]) -> None:
        names = sorted(map(str, known))
        self._given = kind, word, names
        close = get_close_matches(word, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        there_are = f"There are: {', '.join(names)}." if names else "There are none."
        super().__init__(f"no {kind} named {word!r}.{hint} {there_are}")

    def __reduce__(self) -> tuple[type, tuple[str, str, list[str]]]:
        return type(self), self._given  # it comes back from other processes


class AskedElsewhereError(PhillyError, AttributeError):
    """An attribute that stands elsewhere, or is called otherwise."""


class WorkloadError(PhillyError):
    """Jobs that cannot be run, or a load that they cannot offer."""


class OutputError(PhillyError):
    """An answer that cannot be written as it was asked for."""


class ModelError(PhillyError):
    """A model that cannot be fitted, read or sampled."""


class ExportError(PhillyError):
    """A workload that a format cannot carry."""


class SimulationError(PhillyError):
    """A simulation that cannot start or go on."""
