"""Format numbers, durations and counts for sentences, captions and tables."""

import math
import re
from collections.abc import Sequence
from typing import Any

NOT_KNOWN = "–"
"""Text for an unknown value."""

UNNAMED = "(none)"
"""Name of users and virtual clusters that the log does not name."""

_UNITS_S = (
    (604_800, "weeks", 2),
    (86_400, "days", 2),
    (3_600, "h", 2),
    (60, "min", 1),
    (1, "s", 1),
)


def duration(seconds: float) -> str:
    """Format a duration in its largest unit: at least one minute, or two of a larger unit."""
    for size, unit, least in _UNITS_S:
        if abs(seconds) >= least * size:
            value = float(f"{seconds / size:.3g}")
            return f"{value:,.0f} {unit}" if abs(value) >= 1000 else f"{value:.3g} {unit}"
    return f"{seconds:.2g} s"


def percent(pct: float) -> str:
    """Format a percentage with one decimal, or two near 0 and 100."""
    pct = round(pct, 9)  # sums of shares miss 100 by a rounding error
    if 0 < pct < 0.005:
        return "<0.01 %"
    if 99.995 <= pct < 100:
        return ">99.99 %"
    digits = 0 if pct in (0, 100) else 1 if 0.1 <= pct <= 99.9 else 2
    return f"{pct:.{digits}f} %"


def share(frac: float) -> str:
    """Format a fraction from 0 to 1 as a percentage."""
    return percent(100 * frac)


def whole_percent(frac: float) -> str:
    """Format a fraction as a whole percentage for a headline, and like `share` below 10 %."""
    if 0.99 < frac < 1:
        return ">99 %"
    return f"{100 * frac:.0f} %" if frac >= 0.1 else share(frac)


def reproducible(value: float) -> float:
    """Round to 12 significant digits, which do not depend on the order in which sums are taken."""
    return float(f"{value:.12g}")


def number(value: float | None, *, signed: bool = False) -> str:
    """Format a number with grouped thousands and about three significant digits."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOT_KNOWN
    if value == 0:
        return "0"
    sign = "+" if signed else ""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:{sign},.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:{sign},.{digits}f}"


def json_value(value: Any) -> Any:
    """Return a value, or None where JSON cannot express it: missing or infinite.

    Real numbers are rounded to 12 significant digits.
    """
    import pandas as pd

    missing = value is pd.NA or value != value  # NaN is unequal to itself
    if missing or value in (float("inf"), float("-inf")):
        return None
    return reproducible(value) if isinstance(value, float) else value


_SUFFIXES = {"_gpu_h": "GPU h", "_h": "h", "_min": "min", "_pct": "%", "_gb": "GB"}

_NO_BREAK = "\N{NO-BREAK SPACE}"
_WORDS = sorted({unit for _, unit, _ in _UNITS_S} | {*_SUFFIXES.values()} - {"%"})
_UNIT = re.compile(rf"(?<=\d) (%|(?:{'|'.join(_WORDS)})\b)")


def bind_units(text: str) -> str:
    """Replace the space between a number and its unit by a no-break space."""
    return _UNIT.sub(lambda unit: _NO_BREAK + unit[1].replace(" ", _NO_BREAK), text)


def quantity(name: str, value: float | str | None) -> str:
    """Format a value in the unit at the end of its name: ``wait_s``, ``idle_pct``, ``gpu_h``."""
    if value is None or isinstance(value, str):
        return value or NOT_KNOWN
    if name.endswith("_s"):
        return duration(value)
    if name.endswith("_frac"):
        return share(value)
    unit = unit_of(name)
    return f"{number(value)} {unit}" if unit else number(value)


def unit_of(name: str) -> str:
    """Return the unit that a name ends with (``wait_s``: s); empty for counts."""
    units = {**_SUFFIXES, "_s": "s", "_frac": "1"}
    return next((unit for suffix, unit in units.items() if f"_{name}".endswith(suffix)), "")


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun: ``1 job``, ``2,000 jobs``."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def count_note(n: int, singular: str, text: str) -> str:
    """Return a sentence that begins with a count, such as an exclusion; empty for none."""
    return f"{count(n, singular)}{text}" if n else ""


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names with a number after each that occurs more than once."""
    return [
        f"{name} ({names[: i + 1].count(name)})" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]


def slug(gang: str) -> str:
    """Return a gang bucket as part of a fact's name: ``>8`` becomes ``over_8``."""
    return gang.replace("-", "_").replace(">", "over_")


def gang_label(gang: str) -> str:
    """Return the label of a gang size or bucket: ``1 GPU``, ``2-4 GPUs``."""
    return f"{gang} GPU" if gang == "1" else f"{gang} GPUs"
