"""Small drawings in SVG: one interval on its axis, one panel of a row of panels with like axes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd

from philly_analysis.atlas.claim import FEWEST_ROWS, Claim
from philly_analysis.results import duration, number
from philly_analysis.results.figures import ACCENT, CYCLE, GANG_COLORS, INK, MUTED

_W, _H = 180, 118
_LEFT, _RIGHT, _TOP, _FOOT = 26, 176, 10, 100
_GRID = "#e6e9ed"
_SOFT = "#5b6672"
_LAST_S = 2_592_000.0

_TICKS_S = (1, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_592_000)


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal axis that several intervals share.

    Attributes
    ----------
    low, high
        Its ends, in the unit of the claim.
    log
        True if it is logarithmic.
    ticks
        Where it is labelled, and how.
    """

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        """Return where a value lies, 0 to 100; beyond the ends it lies on them."""
        v = min(max(value, self.low), self.high)
        if self.log:
            return float(100 * np.log(v / self.low) / np.log(self.high / self.low))
        return 100 * (v - self.low) / (self.high - self.low)


def axis(claim: Claim, values: Iterable[float]) -> Axis:
    """Return the axis on which all of these values and the claim's threshold lie."""
    known = [v for v in (*values, claim.threshold) if np.isfinite(v)]
    match claim.unit:
        case "%":
            at = (0, 25, 50, 75, 100)
            return Axis(0, 100, False, tuple((v, f"{v} %") for v in at))
        case "points":
            end = max(10.0, 1.1 * max(map(abs, known)))
            step = 10 if end < 40 else 25
            span = range(-int(end // step) * step, int(end) + 1, step)
            return Axis(
                -end,
                end,
                False,
                tuple((v, f"{v:+d}".replace("-", "−") if v else "0") for v in span),
            )
        case "s":
            low, high = (f(v for v in known if v > 0) for f in (min, max))
            low = max(min(low / 2, claim.threshold / 10), 1)
            high = max(high * 2, claim.threshold * 10)
            shown = [v for v in _TICKS_S if low <= v <= high]
            return Axis(
                low, high, True, tuple((v, duration(v).replace("60 min", "1 h")) for v in shown)
            )
        case "times":
            positive = [v for v in known if v > 0]
            low, high = min(0.5, min(positive) / 1.2), max(2.0, max(positive) * 1.2)
            low, high = max(low, 0.05), min(high, 20.0)
            factors = [v for v in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if low <= v <= high]
            return Axis(low, high, True, tuple((v, f"{v:g}×") for v in factors))


def panel(claim: Claim, drawn: pd.DataFrame, top: float, said: str) -> str:
    """Draw what one cluster shows.

    Parameters
    ----------
    drawn
        Columns ``x``, ``y`` and ``n``, as the claim's panel gives them.
    top
        Upper end of the vertical axis, alike in all panels of the claim.
    said
        What it shows, for those who do not see it.
    """
    draw = {"bars": _bars, "lengths": _lengths, "shares": _shares, "hours": _hours}[claim.shape]
    unit = "" if claim.shape == "hours" else " %"
    grid = "".join(
        f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{_y(v, top):.1f}" y2="{_y(v, top):.1f}" '
        f'stroke="{_GRID}"/>' + _text(_LEFT - 3, _y(v, top) + 3, f"{v:g}", "end", _SOFT, 8)
        for v in np.linspace(0, top, 3)
    )
    return (
        f'<svg viewBox="0 0 {_W} {_H}" role="img" aria-label="{escape(said, quote=True)}{unit}">'
        f"{grid}{draw(claim, drawn, top)}</svg>"
    )


def top_of(claim: Claim, panels: Iterable[pd.DataFrame]) -> float:
    """Return the upper end of the vertical axis that all panels of a claim share."""
    if claim.shape in ("lengths", "shares"):
        return 100.0
    if claim.shape == "hours":
        return 3.0  # one bursty hour would flatten all others
    highest = max((float(p["y"].max()) for p in panels if p["y"].notna().any()), default=1.0)
    return float(next((s for s in (5, 10, 20, 40, 60, 80, 100) if highest <= s), 100))


def _y(value: float, top: float) -> float:
    return _FOOT - (_FOOT - _TOP) * min(max(value, 0) / top, 1)


def _text(x: float, y: float, text: str, anchor: str, color: str = INK, size: float = 9) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" '
        f'font-size="{size:g}">{escape(text)}</text>'
    )


def _path(points: Sequence[tuple[float, float]], color: str = ACCENT) -> str:
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="{d}" fill="none" stroke="{color}" stroke-width="1.8"/>'


def _mark(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{CYCLE[1]}"/>'


def _bars(claim: Claim, drawn: pd.DataFrame, top: float) -> str:
    slot = (_RIGHT - _LEFT) / max(len(drawn), 1)
    parts = []
    for i, (x, y, n) in enumerate(zip(drawn["x"], drawn["y"], drawn["n"], strict=True)):
        middle = _LEFT + (i + 0.5) * slot
        parts.append(_text(middle, _FOOT + 11, str(x), "middle"))
        if not np.isfinite(y):
            parts.append(_text(middle, _FOOT - 3, "none", "middle", MUTED, 8))
            continue
        color, few = GANG_COLORS.get(str(x), ACCENT), n < FEWEST_ROWS
        look = f'fill="#fff" stroke="{color}" stroke-dasharray="2 2"' if few else f'fill="{color}"'
        width, at = min(0.72 * slot, 30), _y(y, top)
        parts += [
            f'<rect x="{middle - width / 2:.1f}" y="{at:.1f}" width="{width:.1f}" '
            f'height="{_FOOT - at:.1f}" {look}/>',
            _text(middle, at - 2, number(float(y)), "middle", size=8.5),
        ]
    return "".join(parts)


def _lengths(claim: Claim, drawn: pd.DataFrame, top: float) -> str:
    def x(seconds: float) -> float:
        return float(_LEFT + (_RIGHT - _LEFT) * np.log(seconds) / np.log(_LAST_S))

    ticks = ((60, "1 min"), (3_600, "1 h"), (86_400, "1 d"))
    at = x(claim.threshold)
    return (
        "".join(_text(x(s), _FOOT + 11, word, "middle") for s, word in ticks)
        + f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_FOOT}" stroke="{CYCLE[1]}" '
        'stroke-dasharray="3 2"/>'
        + _path([(x(s), _y(p, top)) for s, p in zip(drawn["x"], drawn["y"], strict=True)])
    )


def _shares(claim: Claim, drawn: pd.DataFrame, top: float) -> str:
    def x(share: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * share / 100

    tenth = float(np.interp(10, drawn["x"], drawn["y"]))
    return (
        "".join(_text(x(s), _FOOT + 11, f"{s} %", "middle") for s in (10, 50))
        + _text(_RIGHT, _FOOT + 11, "100 %", "end")
        + _path([(x(s), _y(p, top)) for s, p in zip(drawn["x"], drawn["y"], strict=True)])
        + _mark(x(10), _y(tenth, top))
        + _text(x(10) + 6, _y(tenth, top) + 12, f"{number(tenth)} %", "start")
    )


def _hours(claim: Claim, drawn: pd.DataFrame, top: float) -> str:
    slot = (_RIGHT - _LEFT) / 24
    level = _y(1, top)
    return (
        "".join(
            f'<rect x="{_LEFT + h * slot + 0.5:.1f}" y="{_y(y, top):.1f}" width="{slot - 1:.1f}" '
            f'height="{_FOOT - _y(y, top):.1f}" fill="{ACCENT}"/>'
            for h, y in zip(drawn["x"], drawn["y"], strict=True)
        )
        + f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{level:.1f}" y2="{level:.1f}" '
        f'stroke="{CYCLE[1]}" stroke-dasharray="3 2"/>'
        + "".join(
            _text(_LEFT + (h + 0.5) * slot, _FOOT + 11, str(h), "middle") for h in (0, 6, 12, 18)
        )
    )
