"""Declare, parse and check the knobs of policies: meaning and bounds."""

import json
from collections.abc import Mapping
from dataclasses import Field, field, fields
from itertools import pairwise
from math import inf, isnan
from typing import Any, NamedTuple

from philly_analysis.errors import SimulationError, UnknownNameError

LONG_S = 1e9
"""Upper bound of knobs in seconds (30 years): sums of times keep their precision."""


class Bounds(NamedTuple):
    """Allowed values of a number: ``low`` to ``high``, and the values in ``or_else``."""

    low: float
    high: float
    or_else: tuple[float, ...] = ()

    def contain(self, value: float) -> bool:
        """Whether a value is allowed."""
        return not isnan(value) and (self.low <= value <= self.high or value in self.or_else)

    def __str__(self) -> str:
        """Format the bounds for messages."""
        span = f"{self.low:g} to {self.high:g}"
        return " or ".join([*(f"{value:g}" for value in self.or_else), span])


def knob(
    default: Any,
    meaning: str,
    *,
    within: Bounds | None = None,
    among: tuple[str, ...] = (),
    rises: bool = False,
) -> Any:
    """Declare a knob.

    Parameters
    ----------
    default
        Default of the knob. All values have the type of the default.
    meaning
        A phrase on the effect of the knob. The unit is the suffix of the knob's name.
    within
        Bounds of the knob's numbers.
    among
        Allowed words.
    rises
        Whether the knob's numbers must be strictly increasing.
    """
    metadata = {"meaning": meaning, "within": within, "among": among, "rises": rises}
    return field(default=default, metadata=metadata)


def check(policy: Any) -> None:
    """Check the knobs of a policy.

    Raises
    ------
    UnknownNameError
        A word is not allowed.
    SimulationError
        A value has the wrong type, or is outside the knob's bounds.
    """
    for option in fields(policy):
        value, meta = getattr(policy, option.name), _declared(option)
        why = ""
        if not _has_type(value, option.default):
            why = f"must be {_TYPES.get(type(option.default), 'numbers')}"
        elif meta["among"] and value not in meta["among"]:
            raise UnknownNameError(f"{option.name} of {policy.name}", str(value), meta["among"])
        else:
            numbers = value if isinstance(value, tuple) else (value,)
            if meta["within"] and not all(map(meta["within"].contain, numbers)):
                why = f"may be {allowed(option)}"
            elif meta["rises"] and any(a >= b for a, b in pairwise(numbers)):
                why = "must increase from each number to the next"
        if why:
            raise SimulationError(
                f"knob {option.name} of {policy.name} is {value!r}; it {why}, e.g. "
                f"{option.default!r}."
            )


def check_at_most(policy: Any, knob: str, limit: str, *, half: bool = False) -> None:
    """Check that a knob is at most another knob, or half of the other knob."""
    value, most = getattr(policy, knob), getattr(policy, limit)
    if value > (most / 2 if half else most):
        raise SimulationError(
            f"knob {knob} of {policy.name} is {value!r}; it may be at most "
            f"{'half of ' * half}{limit}, which is {most!r}."
        )


def unit(knob: str) -> str:
    """Return the unit of a knob, by the suffix of the name."""
    return "GPU s" if knob.endswith("_gpu_s") else "s" if knob.endswith("_s") else ""


def allowed(knob: "Field[Any]") -> str:
    """Return the allowed values of a knob as text."""
    meta = _declared(knob)
    if meta["among"]:
        return ", ".join(map(str, meta["among"]))
    if isinstance(knob.default, bool):
        return "true, false"
    prefix = "each " if isinstance(knob.default, tuple) else ""
    bounds = f"{prefix}{meta['within']}" if meta["within"] else ""
    return f"{bounds}, rising" if meta["rises"] else bounds


def parse(policy: Any, values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Convert knobs to their types; text is parsed as JSON unless the knob is a word.

    Raises
    ------
    UnknownNameError
        The policy has no knob of this name.
    """
    knobs = {f.name: f for f in fields(policy)}
    for word in values:
        if word not in knobs:
            raise UnknownNameError(f"knob of {name}", word, knobs)
    return {word: _parse(value, knobs[word].default) for word, value in values.items()}


def format_value(default: Any) -> str:
    """Format a knob's value so that :func:`parse` reads the value back."""
    return default if isinstance(default, str) else json.dumps(default)


def _parse(value: Any, default: Any) -> Any:
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
    """Return a knob's declaration; defaults for a plain field."""
    return {"among": (), "within": None, "rises": False, **knob.metadata}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_type(value: Any, default: Any) -> bool:
    if isinstance(default, tuple):
        return isinstance(value, tuple) and all(map(_is_number, value))
    if isinstance(default, float):
        return _is_number(value)
    return type(value) is type(default)


_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}

STALL = Bounds(0, 86_400)
"""Seconds of a restart."""

PERIOD = Bounds(10, 1e6)
"""Seconds of a period: shorter periods would dominate the simulation's run time."""

ROUND = PERIOD._replace(or_else=(0,))
"""Seconds of a period, or 0 for none."""

SERVICE = Bounds(1, LONG_S)
"""GPU-seconds of service at which a job changes its queue."""

WAIT = Bounds(0, LONG_S, or_else=(inf,))
"""Seconds, or infinite for never."""
