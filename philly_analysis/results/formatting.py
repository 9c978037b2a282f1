"""Words for numbers, as sentences, captions and tables of facts use them."""

import math
import re
from collections.abc import Sequence

NOT_KNOWN = "–"
"""How a value is said that is not known."""

NOBODY = "(none)"
"""Who is meant where the log names nobody."""

_UNITS_S = (
    (604_800, "weeks", 2),
    (86_400, "days", 2),
    (3_600, "h", 2),
    (60, "min", 1),
    (1, "s", 1),
)


def duration(seconds: float) -> str:
    """Say a duration in the largest unit of which it holds at least one (two from hours on)."""
    for size, unit, least in _UNITS_S:
        if abs(seconds) >= least * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"


def share(frac: float) -> str:
    """Say a fraction from 0 to 1 as a percentage."""
    pct = round(100 * frac, 9)  # sums of shares miss their whole by a hair
    digits = 0 if pct in (0, 100) else 1 if 0.1 <= pct <= 99.9 else 2
    return f"{pct:.{digits}f} %"


def number(value: float | None, *, signed: bool = False) -> str:
    """Say a number: thousands grouped, about three significant digits."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOT_KNOWN
    if value == 0:
        return "0"
    sign = "+" if signed else ""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:{sign},.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:{sign},.{digits}f}"


_SUFFIXES = {"_gpu_h": "GPU h", "_h": "h", "_min": "min", "_pct": "%", "_gb": "GB"}

_NO_BREAK = "\N{NO-BREAK SPACE}"
_WORDS = sorted({unit for _, unit, _ in _UNITS_S} | {*_SUFFIXES.values()} - {"%"})
_UNIT = re.compile(rf"(?<=\d) (%|(?:{'|'.join(_WORDS)})\b)")


def together(text: str) -> str:
    """Have each number stand on one line with its unit: for pages, where lines break anywhere."""
    return _UNIT.sub(lambda unit: _NO_BREAK + unit[1].replace(" ", _NO_BREAK), text)


def quantity(name: str, value: float | str | None) -> str:
    """Say a value in the unit that its name ends in: ``wait_s``, ``idle_pct``, ``lost_gpu_h``."""
    if value is None or isinstance(value, str):
        return value or NOT_KNOWN
    if name.endswith("_s"):
        return duration(value)
    if name.endswith("_frac"):
        return share(value)
    unit = next((u for suffix, u in _SUFFIXES.items() if f"_{name}".endswith(suffix)), None)
    return f"{number(value)} {unit}" if unit else number(value)


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Say how many there are of something."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def told_apart(names: Sequence[str]) -> list[str]:
    """Return the names, those that are alike numbered."""
    return [
        f"{name} ({names[: i + 1].count(name)})" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]


def slug(group: str) -> str:
    """Return a gang bucket as it stands in the name of a fact: ``>8`` is ``over_8``."""
    return group.replace("-", "_").replace(">", "over_")


def gpus(gang: str) -> str:
    """Say a gang bucket: ``1 GPU``, ``2-4 GPUs``."""
    return f"{gang} GPU" if gang == "1" else f"{gang} GPUs"
