"""The package's exceptions, which all derive from :class:`PhillyError`."""

from collections.abc import Iterable
from difflib import get_close_matches


class PhillyError(Exception):
    """Base of all errors: the message has the request, the cause, and a remedy."""


class InputError(PhillyError):
    """Raw files or other inputs cannot be read."""


class TraceError(PhillyError):
    """A folder is no trace, or a trace is damaged or cannot be written."""


class MissingTableError(PhillyError):
    """A query needs a table that the trace does not have."""


class QueryError(PhillyError):
    """SQL is not one valid SELECT, or does not run."""


class UnknownNameError(PhillyError):
    """A name that the user gave is unknown."""

    def __init__(self, kind: str, word: str, known: Iterable[str]) -> None:
        names = sorted(map(str, known))
        self._arguments = kind, word, names
        close = get_close_matches(word, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        options = f"There are: {', '.join(names)}." if names else "There are none."
        super().__init__(f"no {kind} named {word!r}.{hint} {options}")

    def __reduce__(self) -> tuple[type, tuple[str, str, list[str]]]:
        return type(self), self._arguments  # so that it can be pickled


class NoAttributeError(PhillyError, AttributeError):
    """An object has no such attribute; the message has the right name or call."""


class WorkloadError(PhillyError):
    """Jobs cannot be run, or cannot offer the requested load."""


class OutputError(PhillyError):
    """A result cannot be written as requested."""


class ModelError(PhillyError):
    """A model cannot be fitted, read or sampled."""


class ExportError(PhillyError):
    """A format cannot represent a workload."""


class SimulationError(PhillyError):
    """A simulation cannot start or continue."""
