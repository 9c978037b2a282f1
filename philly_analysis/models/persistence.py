"""Models to JSON and back, by the types of their fields."""

import dataclasses
import json
import types
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from philly_analysis.errors import ModelError

T = TypeVar("T")

FORMAT = 1


def to_json(model: Any) -> str:
    """Return a dataclass as JSON, keys in the order of its fields.

    Raises
    ------
    ModelError
        It holds a number that JSON cannot: infinite or none.
    """
    try:
        body = {"format": FORMAT, **dataclasses.asdict(model)}
        return json.dumps(body, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise ModelError(f"the model cannot be written as JSON: {error}") from None


def from_json(kind: type[T], text: str, where: str | Path = "the text") -> T:
    """Return the dataclass that :func:`to_json` wrote.

    Raises
    ------
    ModelError
        The text is not such JSON.
    """
    try:
        body = json.loads(text)
        if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
            raise ModelError(f"{where} is not a workload model of format {FORMAT}; fit it again")
        return _built(kind, body)  # type: ignore[no-any-return]
    except RecursionError:
        raise ModelError(f"{where} is nested deeper than any workload model.") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ModelError(f"{where} is not a readable workload model: {error}") from None


def _built(kind: Any, value: Any) -> Any:
    """Return `value`, read from JSON, as a `kind`."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        unknown = set(value) - set(hints)
        if unknown:
            raise TypeError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
        return kind(**{name: _built(hints[name], item) for name, item in value.items()})
    if isinstance(kind, types.UnionType):
        if value is None:
            return None
        return _built(next(k for k in get_args(kind) if k is not types.NoneType), value)
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_built(inner[0], item) for item in value)
        return tuple(_built(k, item) for k, item in zip(inner, value, strict=True))
    if kind is float:
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value
