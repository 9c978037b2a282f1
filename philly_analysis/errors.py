"""The exceptions of the package, which all derive from PhillyError."""

import inspect
import tomllib
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, ValuesView
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, partial, update_wrapper, wraps
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, cast

_Options = ParamSpec("_Options")
_Returned = TypeVar("_Returned")


_MOST_LISTED = 40
"""Most known names in an error that has a nearest one."""

_LEAST_ALIKE = 0.75
"""Similarity from which on an attribute is suggested for another: of ``wait`` and ``waits``."""


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


@contextmanager
def file_errors(kind: type[PhillyError], failed: str, advice: str = "") -> Iterator[None]:
    """Raise errors of the file system as errors of a kind.

    Parameters
    ----------
    failed
        What failed, as ``jobs.csv cannot be read``; the system's reason follows.
    advice
        What to try, after the reason.
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{failed}: {error.strerror or error}{advice}") from error


class UnknownNameError(PhillyError):
    """A name that the user gave is unknown."""

    def __init__(self, kind: str, word: str, known: Iterable[str]) -> None:
        names = sorted(map(str, known))
        self._arguments = kind, word, names
        close = get_close_matches(word, names, n=1) or get_close_matches(word.lower(), names, n=1)
        close = close or [name for name in names if word and word.lower() in name.lower()]
        hint = f" Did you mean {close[0]!r}?" if close else ""
        instead = familiar_names(kind, "instead")
        if use := instead.get(word, "" if close else instead.get("*", "")):
            hint = f" Use {use}."
        options = f" There are: {', '.join(names)}." if names else " There are none."
        if close and len(names) > _MOST_LISTED:
            options = ""
        super().__init__(f"no {kind} named {word!r:.200}.{hint}{options}")

    def __reduce__(self) -> tuple[type, tuple[str, str, list[str]]]:
        return type(self), self._arguments  # so that it can be pickled


class NoAttributeError(PhillyError, AttributeError):
    """An object has no such attribute; the message has the right name or call."""


@cache
def _tables() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(Path(__file__).with_name("familiar_names.toml").read_text("utf-8"))


def familiar_names(owner: str, kind: Literal["works", "instead"]) -> dict[str, str]:
    """Return the names of other libraries for an owner: a class, the package, or ``arguments``.

    Parameters
    ----------
    kind
        ``works``: names to accept, and the name here, a call (``plot()``), a path (``a.b``), or a
        function that takes the object (``philly_analysis.fit``); ``DataFrame``: all names of a
        pandas frame, and the method here that returns the frame. ``instead``: names that are
        absent, and the call that does it.
    """
    return _tables().get(owner, {}).get(kind, {})


class _ClassSuggestsNames(ABCMeta):
    """Do for a class what :class:`SuggestsNames` does for its objects: ``Workload.from_df``."""

    if not TYPE_CHECKING:  # which would take every absent attribute for one

        def __getattr__(cls, name: str) -> Any:
            return _familiar_attribute(cls, name)


class SuggestsNames(metaclass=_ClassSuggestsNames):
    """Accept the names of other libraries, or name the right call in the error.

    ``familiar_names.toml`` lists them by class. They are not documented: each thing has one name.
    Errors of its public methods name the nearest argument.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if name.startswith("_") and name not in ("__init__", "__call__"):
                continue
            if isinstance(method, classmethod) and not hasattr(method.__func__, "__wrapped__"):
                setattr(cls, name, classmethod(_check_arguments(method.__func__)))
            elif inspect.isfunction(method) and not hasattr(method, "__wrapped__"):
                setattr(cls, name, _check_arguments(method))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return _familiar_attribute(self, name)


def _familiar_attribute(owner: object, name: str) -> Any:
    for kind in _class_names(owner):
        works = familiar_names(kind, "works")
        if same := works.get(name):
            return _same_as(owner, same)
        of_frame = "DataFrame" in works and name not in familiar_names(kind, "instead")
        if of_frame and not isinstance(owner, type) and is_of_frames(name):
            return getattr(getattr(owner, works["DataFrame"])(), name)
    raise no_attribute(owner, name)


def _same_as(owner: object, same: str) -> Any:
    """Return an attribute, what ``name()`` returns, or a function of the package as a method."""
    package, _, function = same.partition(".")
    if package == __package__:
        return partial(getattr(import_module(package), function), owner)
    found = attrgetter(same.removesuffix("()"))(owner)
    return found() if same.endswith("()") else found


def no_attribute(owner: object, name: str, known: Iterable[str] = ()) -> NoAttributeError:
    """Return the error for an absent attribute, which names the call to use or the nearest names.

    Parameters
    ----------
    owner
        The object or module.
    known
        Names to suggest; by default its public attributes.
    """
    kinds = _class_names(owner)
    if name.startswith("_"):  # Python's own look-ups
        return NoAttributeError(f"{kinds[0]} has no attribute {name!r}.")
    instead: dict[str, str] = {}
    for kind in reversed(kinds):
        instead |= familiar_names(kind, "instead")
    public = [n for n in (known or dir(owner)) if not n.startswith("_")]
    near = get_close_matches(name, public, 3, cutoff=_LEAST_ALIKE)
    if name in instead:
        hint = f"Use {instead[name]}."
    elif "DataFrame" in instead and is_of_frames(name):
        hint = f"Use {instead['DataFrame']}.{name}."
    elif near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif "*" in instead:
        hint = f"Use {instead['*']}."
    else:
        hint = f"It has {', '.join(public)}."
    return NoAttributeError(f"{kinds[0]} has no attribute {name!r}. {hint}")


def is_of_frames(name: str) -> bool:
    """Return whether a DataFrame of pandas has a public attribute."""
    from pandas import DataFrame  # most commands need no pandas

    return not name.startswith("_") and hasattr(DataFrame, name)


def _class_names(owner: object) -> list[str]:
    if isinstance(owner, ModuleType | CheckedFunction):
        return [owner.__name__]
    return [kind.__name__ for kind in (owner if isinstance(owner, type) else type(owner)).__mro__]


class ArgumentError(PhillyError, TypeError):
    """A call has an argument that the function does not take, or lacks one."""


_GIVEN_BY_NAME = frozenset({"format", "source"})
"""Arguments between objects that users give by name: ``ingest(raw, out, source="slurm")``."""

_BY_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _check_arguments(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function with errors that name the nearest argument.

    Names that other libraries have for an argument are accepted.
    """

    @wraps(function)
    def checked(*args: object, **kwargs: object) -> object:
        try:
            return function(*args, **kwargs)
        except TypeError:
            signature = inspect.signature(function)
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                reason = error
            else:
                _check_numbers(function, signature, given)
                raise  # the arguments are right: the error is of the function's own
        parameters = signature.parameters
        known = [
            n
            for n, p in parameters.items()
            if n != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        unknown = [name for name in kwargs if name not in known]
        works = familiar_names("arguments", "works")
        same = {n: [s for s in works.get(n, "").split() if s in known] for n in unknown}
        if renamed := {n: s[0] for n, s in same.items() if s and s[0] not in kwargs}:
            return checked(*args, **{renamed.get(n, n): v for n, v in kwargs.items()})
        others = [n for n in parameters if n not in kwargs]
        if kwargs.keys() & _GIVEN_BY_NAME.intersection([*parameters][: len(args)]):
            return checked(**dict(zip(others, args, strict=False)), **kwargs)
        owner, _, call = function.__qualname__.removesuffix(".__init__").rpartition(".")
        hints = [hint for name in unknown if (hint := _near_argument(name, known))]
        instead = familiar_names(owner or "philly_analysis", "instead")
        calls = [instead[key] for n in unknown if (key := f"{call}({n})") in instead]
        if calls:
            hint = f"Use {calls[0]}."
        elif hints:
            hint = f"Did you mean {', '.join(hints)}?"
        else:
            taken = (n if parameters[n].kind is not _BY_KEYWORD else f"{n}=…" for n in known)
            hint = f"Use {instead.get(f'{call}()', '') or call + '(' + ', '.join(taken) + ')'}."
        raise ArgumentError(f"{call}(): {reason}. {hint}") from None

    return checked


def _check_numbers(
    function: Callable[..., object], signature: inspect.Signature, given: Mapping[str, object]
) -> None:
    """Raise an ArgumentError for text that is given for a number."""
    for name, value in given.items():
        kind = signature.parameters[name].annotation
        kind = kind if isinstance(kind, str) else str(getattr(kind, "__name__", kind))
        if isinstance(value, str) and kind.startswith(("int", "float")):
            raise ArgumentError(
                f"{function.__name__}(): {name} is a number. Use {name}=1, not {value!r}."
            ) from None


class CheckedFunction:
    """A function of the package whose errors name the call for an absent attribute or item.

    ``policies.Fifo`` is such an attribute.
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., object]) -> None:
        update_wrapper(self, function)
        self._function = _check_arguments(function)
        self._parameters = inspect.signature(function).parameters

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function, or raise an ArgumentError.

        Ranges, iterators, arrays and columns are taken as lists, and numbers of NumPy as Python's.
        """
        named = {name: plain(value) for name, value in kwargs.items()}
        values = [plain(value) for value in args]
        positional = [n for n, p in self._parameters.items() if p.kind < p.VAR_POSITIONAL]
        for name, value in [*zip(positional, values, strict=False), *named.items()]:
            self._check_several(name, value)
        return self._function(*values, **named)

    def _check_several(self, name: str, value: object) -> None:
        """Raise an ArgumentError for a list of what is one value."""
        kind = str(self._parameters[name].annotation) if name in self._parameters else "Sequence"
        if isinstance(value, list | tuple) and "Sequence" not in kind and "Iterable" not in kind:
            call = self.__name__
            instead = familiar_names("philly_analysis", "instead").get(f"{call}({name})")
            use = instead or f"[{call}(…, {name}=one) for one in …]"
            raise ArgumentError(f"{call}(): {name} is one value, not several. Use {use}.")

    def __get__(self, owner: object, kind: type | None = None) -> object:
        return self  # with this, ``inspect`` and ``help`` take it for a function

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self, name)

    def __getitem__(self, name: str) -> Any:
        raise no_attribute(self, name)

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled by name, as functions are


def plain(value: object) -> object:
    """Return a range, an iterator, an array or a column as a list, and a number as Python's."""
    if isinstance(value, SuggestsNames):
        return value
    to_list = getattr(type(value), "tolist", None) or getattr(type(value), "to_list", None)
    if to_list is not None:
        return to_list(value)
    if isinstance(value, range | Iterator | KeysView | ValuesView) and not hasattr(value, "read"):
        return list(value)
    return value


def suggest_arguments(function: Callable[_Options, _Returned]) -> Callable[_Options, _Returned]:
    """Name the nearest argument in the errors of a function of the package.

    Methods need it not: :class:`SuggestsNames` does the same for all of a class.

    Raises
    ------
    ArgumentError
        An argument is unknown, missing or given twice.
    """
    return cast("Callable[_Options, _Returned]", CheckedFunction(function))


def _near_argument(name: str, known: list[str]) -> str | None:
    same = familiar_names("arguments", "instead").get(name)
    if same and same.partition("=")[0] in known:
        return same
    return next(iter(get_close_matches(name, known, 1)), None)


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
