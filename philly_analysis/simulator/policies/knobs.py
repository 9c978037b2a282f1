"""Knobs of policies: what each means, its unit and its bounds; a value outside is refused."""

import json
from collections.abc import Mapping
from dataclasses import Field, field, fields
from itertools import pairwise
from math import inf, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from philly_analysis.errors import SimulationError, UnknownNameError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LONG_S = 1e9
"""Thirty years: no knob of seconds is larger, lest sums of times lose their seconds."""


class Bounds(NamedTuple):
    """Which values a number may take: from ``low`` to ``high``, and those of ``or_else``."""

    low: float
    high: float
    or_else: tuple[float, ...] = ()

    def hold(self, value: float) -> bool:
        """Whether a value lies within."""
        return not isnan(value) and (self.low <= value <= self.high or value in self.or_else)

    def __str__(self) -> str:
        """Say what may be set, as a person would."""
        span = f"{self.low:g} to {self.high:g}"
        return " or ".join([*(f"{value:g}" for value in self.or_else), span])


def knob(
    default: Any,
    meaning: str,
    *,
    unit: str = "",
    within: Bounds | None = None,
    among: tuple[str, ...] = (),
    rises: bool = False,
) -> Any:
    """Declare a knob.

    Parameters
    ----------
    default
        Its value unless set; the type of this is the type of all.
    meaning
        What it does, in half a sentence.
    unit
        Of its numbers.
    within
        Bounds of a number, or of each number of several.
    among
        The words that it may be; a word is looked up in these.
    rises
        Whether its numbers must each be larger than the one before.
    """
    metadata = {
        "meaning": meaning,
        "unit": unit,
        "within": within,
        "among": among,
        "rises": rises,
    }
    return field(default=default, metadata=metadata)


def check(policy: "DataclassInstance", name: str) -> None:
    """Refuse knobs outside of their bounds.

    Raises
    ------
    UnknownNameError
        A word is none of those that the knob may be.
    SimulationError
        A value is not of the knob's kind, or outside its bounds.
    """
    for each in fields(policy):
        value, meta = getattr(policy, each.name), _declared(each)
        if not _of_kind(value, each.default):
            raise refused(name, each, value, f"takes {_kind(each.default)}")
        if meta["among"] and value not in meta["among"]:
            raise UnknownNameError(f"{each.name} of {name}", str(value), meta["among"])
        numbers = value if isinstance(value, tuple) else (value,)
        if meta["within"] and not all(map(meta["within"].hold, numbers)):
            raise refused(name, each, value, f"may be {allowed(each)}")
        if meta["rises"] and any(a >= b for a, b in pairwise(numbers)):
            raise refused(name, each, value, "rises from each number to the next")


def check_below(policy: "DataclassInstance", name: str, knob: str, most: str, part: int) -> None:
    """Refuse a knob above another, or a part of it: together they would let nothing get on."""
    value, limit = getattr(policy, knob), getattr(policy, most)
    if value > limit / part:
        of = {1: "", 2: "half of "}[part]
        raise SimulationError(
            f"knob {knob} of {name} was set to {value!r}; it may be at most {of}{most}, which is "
            f"{limit!r}."
        )


def refused(name: str, knob: "Field[Any]", value: Any, why: str) -> SimulationError:
    """Return the error for a value that a knob of a policy cannot take."""
    return SimulationError(
        f"knob {knob.name} of {name} was set to {value!r}; it {why}, e.g. {knob.default!r}."
    )


def allowed(knob: "Field[Any]") -> str:
    """Say which values a knob may take."""
    meta = _declared(knob)
    if meta["among"]:
        return ", ".join(map(str, meta["among"]))
    if isinstance(knob.default, bool):
        return "true, false"
    several = "each " if isinstance(knob.default, tuple) else ""
    said = f"{several}{meta['within']}" if meta["within"] else ""
    return f"{said}, rising" if meta["rises"] else said


def read(policy: "type[DataclassInstance]", values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return knobs as their policy takes them; text is read as JSON where the knob is no text.

    Raises
    ------
    UnknownNameError
        The policy has no such knob.
    """
    known = {f.name: f for f in fields(policy)}
    for word in values:
        if word not in known:
            raise UnknownNameError(f"knob of {name}", word, known)
    return {word: _read(value, known[word].default) for word, value in values.items()}


def written(default: Any) -> str:
    """Write a knob's value as one would set it; :func:`read` reads it back."""
    return default if isinstance(default, str) else json.dumps(default)


def _read(value: Any, default: Any) -> Any:
    if isinstance(value, str) and not isinstance(default, str):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            value = {"true": True, "false": False, "inf": inf}.get(value.lower(), value)
    if isinstance(default, tuple):
        if isinstance(value, list):
            return tuple(value)
        return (value,) if _is_number(value) else value
    if isinstance(default, float) and _is_number(value) and abs(value) <= LONG_S:
        return float(value)
    return value


def _declared(knob: "Field[Any]") -> dict[str, Any]:
    """Return what a knob was declared with; nothing for a plain field."""
    return {"among": (), "within": None, "rises": False, **knob.metadata}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _of_kind(value: Any, default: Any) -> bool:
    if isinstance(default, tuple):
        return isinstance(value, tuple) and all(map(_is_number, value))
    if isinstance(default, float):
        return _is_number(value)
    return type(value) is type(default)


def _kind(default: Any) -> str:
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
    return kinds.get(type(default), "numbers")


STALL = Bounds(0, 86_400)
"""Seconds that a stop, or a change of GPUs, may cost."""

PERIOD = Bounds(10, 1e6)
"""Seconds from one look to the next: shorter than this, a simulation would do little else."""
