"""Write models as JSON and read them by the types of their fields."""

import dataclasses
import json
import tomllib
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import ModelError
from philly_analysis.study import GANGS

T = TypeVar("T")

FORMAT = 1
KEYS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""JSON keys of fields that have another name in Python; the format is older than the names."""


def key_of(field: str) -> str:
    """Return the JSON key of a field."""
    return KEYS.get(field, field)


def to_json(model: Any) -> str:
    """Return a dataclass as JSON, keys in the order of its fields.

    Raises
    ------
    ModelError
        A number is infinite or nan.
    """
    body = dataclasses.asdict(model, dict_factory=lambda items: {key_of(k): v for k, v in items})
    try:
        return json.dumps({"format": FORMAT, **body}, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise ModelError(f"the model cannot be written as JSON: {error}") from None


def from_json(cls: type[T], text: str, where: str | Path = "the text") -> T:
    """Read a dataclass that :func:`to_json` wrote.

    Raises
    ------
    ModelError
        The text is not a model's JSON.
    """
    try:
        body = json.loads(text)
        if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
            raise ModelError(f"{where} is not a workload model of format {FORMAT}; fit it again")
        return _build(cls, body)  # type: ignore[no-any-return]
    except RecursionError:
        raise ModelError(f"{where} is nested deeper than any workload model.") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ModelError(f"{where} is not a readable workload model: {error}") from None


def read_model(cls: type[T], text: str, where: str | Path) -> T:
    """Read a workload model that :func:`to_json` wrote.

    Raises
    ------
    ModelError
        The text is not a model's JSON, or the model has other gang buckets than this version.
    """
    model = from_json(cls, text, where)
    if not _has_current_gangs(model):
        raise ModelError(
            f"{where} was fitted with other gang buckets than the current ones "
            f"({', '.join(GANGS)}). Fit it again, or restore GANG_BUCKETS."
        )
    return model


def save(model: Any, path: Path) -> Path:
    """Write a model as JSON and return the path; the folder must exist.

    Raises
    ------
    ModelError
        The file cannot be written.
    """
    try:
        path.parent.stat()
        with atomic_write(path) as partial:
            partial.write_text(to_json(model), "utf-8")
    except OSError as error:
        raise ModelError(f"the model cannot be written to {path}: {error}") from None
    return path


def load(cls: type[T], path: Path) -> T:
    """Read a model that :func:`save` wrote.

    Raises
    ------
    ModelError
        The file is missing, holds no model, or has other gang buckets.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"no workload model can be read from {path}: {error}") from None
    return read_model(cls, text, path)


def _has_current_gangs(model: Any) -> bool:
    """Return whether all parts of a workload model have the current gang buckets."""
    gangs = {cell.gang for cell in (*model.duration.cells, *model.duration.leaves)}
    if model.status:
        gangs |= {c.gang for c in model.status.cells} | {c.gang for c in model.status.attempts}
    reasons = model.failures.reasons if model.failures else ()
    return gangs <= set(GANGS) and all(len(r.weights) == len(GANGS) for r in reasons)


@cache
def _fields(cls: type) -> Mapping[str, tuple[str, Any]]:
    """Return the name and type of each field of a dataclass, by JSON key."""
    return {key_of(name): (name, of) for name, of in get_type_hints(cls).items()}


def _build(hint: Any, value: Any) -> Any:
    """Convert a JSON value to the type of a field."""
    if hint is float:
        return float(value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        fields = _fields(hint)
        if unknown := set(value) - set(fields):
            raise TypeError(f"{hint.__name__} has no field {min(unknown)!r}")
        items = ((*fields[key], item) for key, item in value.items())
        return hint(**{name: _build(of, item) for name, of, item in items})
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        return _build(next(k for k in get_args(hint) if k is not types.NoneType), value)
    if get_origin(hint) is tuple:
        inner, _ = get_args(hint)  # all tuples have any length
        return tuple(_build(inner, item) for item in value)
    if not isinstance(value, hint):
        raise TypeError(f"{value!r} is not of type {hint.__name__}")
    return value
