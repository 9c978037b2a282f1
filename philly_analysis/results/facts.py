"""Headline numbers of a result, by name, and published numbers beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, SupportsIndex, overload

import numpy as np

from philly_analysis.errors import UnknownNameError
from philly_analysis.results.formatting import quantity, unit_of

if TYPE_CHECKING:
    import pandas as pd

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Fact:
    """One headline number: its name with the unit (``median_wait_s``), value and meaning."""

    name: str
    value: Value
    meaning: str

    def __post_init__(self) -> None:
        value: object = self.value
        if isinstance(value, np.generic):
            value = value.item()
        if value != value:  # NaN: not known
            value = None
        object.__setattr__(self, "value", value)

    @property
    def text(self) -> str:
        """The value as text, in the unit at the end of its name."""
        return quantity(self.name, self.value)

    @property
    def unit(self) -> str:
        """The unit at the end of the name; empty for counts."""
        return unit_of(self.name)


class Facts(tuple[Fact, ...]):
    """Facts by position, name or attribute: ``facts.median_wait_s`` is a value.

    ``dict(facts)`` has all values by name, ``facts.df()`` names, values, units and meanings.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Value:
        """Return the value of a fact."""
        try:
            return self[name]
        except UnknownNameError as error:
            raise AttributeError(str(error)) from None

    def keys(self) -> list[str]:
        """Return the names."""
        return [fact.name for fact in self]

    def values(self) -> list[Value]:
        """Return the values."""
        return [fact.value for fact in self]

    def items(self) -> list[tuple[str, Value]]:
        """Return the names with their values."""
        return [(fact.name, fact.value) for fact in self]

    def df(self) -> "pd.DataFrame":
        """Return the facts as a table: name, value, unit, meaning."""
        import pandas as pd

        rows = [(fact.name, fact.value, fact.unit, fact.meaning) for fact in self]
        return pd.DataFrame(rows, columns=["name", "value", "unit", "meaning"])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.keys()]

    @overload
    def __getitem__(self, key: str) -> Value: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> Fact: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Fact, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Value | Fact | tuple[Fact, ...]:
        """Return the fact at a position, or the value of a name.

        Raises
        ------
        UnknownNameError
            There is no fact of this name.
        """
        if not isinstance(key, str):
            return super().__getitem__(key)
        for fact in self:
            if fact.name == key:
                return fact.value
        raise UnknownNameError("fact", key, self.keys())

    _ipython_key_completions_ = keys

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(fact.name)}</td>"
            f"<td style='text-align:right'>{escape(fact.text)}</td>"
            f"<td style='text-align:left'>{escape(fact.meaning)}</td></tr>"
            for fact in self
        )
        return f"<table>{rows}</table>"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published number beside the same quantity measured on a trace.

    Attributes
    ----------
    what
        The quantity, as a phrase.
    published
        The published value, in `unit`.
    measured
        The measured value, in `unit`; None: the trace does not have the quantity.
    source
        Source of the published value, e.g. ``ATC'19, Table 6``.
    reason
        Why the two values may differ.
    """

    what: str
    published: float
    measured: float | None
    unit: str
    source: str
    reason: str


if TYPE_CHECKING:

    class FactsField:
        """Tell type checkers that any sequence of facts is stored as Facts."""

        def __get__(self, result: object, kind: object = None) -> Facts: ...
        def __set__(self, result: object, value: Sequence[Fact]) -> None: ...
