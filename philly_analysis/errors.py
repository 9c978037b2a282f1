"""The exceptions of the package, which all derive from PhillyError."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_MOST_LISTED = 40
"""Most names that an error lists beside the nearest one (chosen: five lines of a terminal)."""


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


class UnknownNameError(PhillyError):
    """A name is absent from its list; the message has the nearest name and the list."""

    def __init__(self, kind: str, name: str, names: Iterable[str]) -> None:
        from difflib import get_close_matches  # few calls need it

        listed = sorted(map(str, names))
        self._arguments = kind, name, listed
        nearest = get_close_matches(name, listed, n=1) or get_close_matches(name.lower(), listed, 1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        options = f" There are: {', '.join(listed)}." if listed else " There are none."
        if nearest and len(listed) > _MOST_LISTED:
            options = ""
        super().__init__(f"no {kind} named {name!r:.200}.{hint}{options}")

    def __reduce__(self) -> tuple[type, tuple[str, str, list[str]]]:
        return type(self), self._arguments  # so that it can be pickled


@contextmanager
def file_errors(kind: type[PhillyError], failed: str, advice: str = "") -> Iterator[None]:
    """Raise errors of the file system as errors of a kind.

    Parameters
    ----------
    failed
        Statement of the failure, such as ``jobs.csv cannot be read``. The message continues with
        the system's reason.
    advice
        Sentence on what to try, which ends the message.
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{failed}: {error.strerror or error}{advice}") from error
