"""Draw a claim's axis, matrix cells and per-trace panels as SVG."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from html import escape

import numpy as np
import pandas as pd

from philly_analysis.atlas.claim import FEWEST_ROWS, Claim, Evidence, Finding, Verdict
from philly_analysis.results import duration, number
from philly_analysis.results.figures import ACCENT, CYCLE, GANG_COLORS, INK, MUTED, SOFT

COLORS = {
    "holds": "#0b5a91",
    "reversed": "#a84300",
    "absent": "#00706b",
    "undecided": "#7d8792",
}
"""Colour of each verdict, safe for colour blindness."""

SPAN = {"times": 8.0, "s": 30.0, "%": 50.0, "points": 25.0, "rate": 5.0}
"""Factor, or difference, from the threshold to the edge of a cell, by unit."""

_CELL_W, _CELL_H = 44, 16

_W, _H = 180, 118
_LEFT, _RIGHT, _TOP, _FOOT = 26, 176, 10, 100
_GRID = "#e6e9ed"
_LAST_S = 2_592_000.0

_TICKS_S = (1, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_592_000)
_FACTORS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
_FEW_FACTORS = (0.1, 0.3, 1, 3, 10)


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal axis shared by several intervals.

    Attributes
    ----------
    low, high
        Ends of the axis, in the unit of the claim.
    log
        True if the axis is logarithmic.
    ticks
        Values and labels of its ticks.
    """

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        """Return the position of a value, 0 to 100, clipped to the ends."""
        v = min(max(value, self.low), self.high)
        if self.log:
            return float(100 * np.log(v / self.low) / np.log(self.high / self.low))
        return 100 * (v - self.low) / (self.high - self.low)


def axis(claim: Claim, values: Iterable[float]) -> Axis:
    """Return an axis that covers values and the claim's threshold."""
    finite = [v for v in (*values, claim.threshold) if np.isfinite(v)]
    positive = [v for v in finite if v > 0]
    match claim.measure.unit:
        case "%":
            return Axis(0, 100, False, tuple((v, f"{v} %") for v in (0, 25, 50, 75, 100)))
        case "rate":
            end = 1.1 * max(finite)
            last = claim.threshold * (end // claim.threshold)
            return Axis(0, end, False, tuple((v, f"{v:g}") for v in (0, last / 2, last)))
        case "points":
            end = max(10.0, 1.1 * max(map(abs, finite)))
            step = 10 if end < 40 else 25
            span = range(-int(end // step) * step, int(end) + 1, step)
            labels = (f"{v:+d}".replace("-", "−") if v else "0" for v in span)
            return Axis(-end, end, False, tuple(zip(map(float, span), labels, strict=True)))
        case "s":
            low = max(min(min(positive) / 2, claim.threshold / 10), 1)
            high = max(max(positive) * 2, claim.threshold * 10)
            few = high / low > 10_000  # more labels would overlap on a phone
            shown = [v for v in _TICKS_S if low <= v <= high and not (few and v == 21_600)]
            labels = (duration(v).replace("60 min", "1 h") for v in shown)
            return Axis(low, high, True, tuple(zip(map(float, shown), labels, strict=True)))
        case "times":
            low = max(min(0.5, min(positive) / 1.2), 0.05)
            high = min(max(2.0, max(positive) * 1.2), 20.0)
            ticks = _FACTORS if high / low < 30 else _FEW_FACTORS
            factors = [v for v in ticks if low <= v <= high]
            return Axis(low, high, True, tuple((v, f"{v:g}×") for v in factors))


def position(claim: Claim, value: float) -> float:
    """Return where a value is in a cell, −1 to 1: the threshold is 0, and it holds above."""
    unit = claim.measure.unit
    if unit in ("times", "s"):
        with np.errstate(divide="ignore"):
            away = np.log(np.float64(value) / claim.threshold) / np.log(SPAN[unit])
    else:
        away = (value - claim.threshold) / SPAN[unit]
    return float(np.clip(away if claim.above else -away, -1, 1))


def cell(claim: Claim, finding: Finding) -> str:
    """Draw the effect of an answer and its interval in a cell of the matrix.

    The colour is the colour of the surrounding text, the marker's shape shows the verdict:
    a disc, a cross, a diamond, a square. Hollow markers are of aggregates, small ones of printed
    numbers.
    """
    at, low, high = (_CELL_W / 2 * (1 + 0.84 * position(claim, v)) for v in astuple(finding.effect))
    y = _CELL_H / 2
    r = (2.4 if finding.evidence is Evidence.PRINTED else 3.6) - 0.6 * (not finding.decided)
    interval = "" if np.isnan(low) else f"M{low:.1f} {y:g}H{high:.1f}"
    look = 'fill="currentColor"' if finding.evidence is Evidence.ROWS else 'class="hollow"'
    match finding.verdict:
        case Verdict.REVERSED:
            look = f'stroke-width="{2.4 if finding.evidence is Evidence.ROWS else 1.3}"'
            shape = f"M{at - r:.1f} {y - r:g}l{2 * r:g} {2 * r:g}m0 {-2 * r:g}l{-2 * r:g} {2 * r:g}"
        case Verdict.ABSENT:
            shape = f"M{at:.1f} {y - r - 1:g}l{r + 1:g} {r + 1:g}l{-r - 1:g} {r + 1:g}"
            shape += f"l{-r - 1:g} {-r - 1:g}z"
        case Verdict.UNDECIDED:
            shape = f"M{at - r:.1f} {y - r:g}h{2 * r:g}v{2 * r:g}h{-2 * r:g}z"
        case Verdict.HOLDS:
            shape = (
                f"M{at - r:.1f} {y:g}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"
            )
    return (
        f'<svg viewBox="0 0 {_CELL_W} {_CELL_H}" aria-hidden="true" stroke="currentColor">'
        f'<path class="zero" d="M{_CELL_W / 2:g} 0V{_CELL_H}"/>'
        f'<path d="{interval}" stroke-width="1.6"/><path d="{shape}" {look}/></svg>'
    )


def panel(claim: Claim, data: pd.DataFrame, top: float, label: str) -> str:
    """Draw the panel of one cluster.

    Parameters
    ----------
    data
        Columns ``x``, ``y`` and ``n``, as the claim's measure returns them.
    top
        Upper end of the vertical axis, equal in all panels of the claim.
    label
        Text for screen readers.
    """
    shape = claim.measure.shape
    draw = {"bars": _bars, "lengths": _lengths, "shares": _shares, "cycle": _cycle}[shape]
    unit = "" if " per " in claim.label else " %"
    grid = "".join(
        _line((_LEFT, _y(v, top)), (_RIGHT, _y(v, top)), _GRID)
        + _text(_LEFT - 3, _y(v, top) + 3, f"{v:g}", "end", SOFT, 8)
        for v in np.linspace(0, top, 3)
    )
    return (
        f'<svg viewBox="0 0 {_W} {_H}" role="img" aria-label="{escape(label, quote=True)}{unit}">'
        f"{grid}{draw(claim, data, top)}</svg>"
    )


def top_of(claim: Claim, panels: Iterable[pd.DataFrame]) -> float:
    """Return the upper end of the vertical axis of all panels of a claim."""
    if claim.measure.shape in ("lengths", "shares"):
        return 100.0
    if claim.measure.shape == "cycle":
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


def _line(
    start: tuple[float, float], end: tuple[float, float], color: str, dashes: str = ""
) -> str:
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{start[0]:.1f}" x2="{end[0]:.1f}" y1="{start[1]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{color}"{style}/>'
    )


def _path(x: Iterable[float], data: pd.DataFrame, top: float) -> str:
    d = "M" + "L".join(f"{a:.1f} {_y(b, top):.1f}" for a, b in zip(x, data["y"], strict=True))
    return f'<path d="{d}" fill="none" stroke="{ACCENT}" stroke-width="1.8"/>'


def _bar(x: float, y: float, width: float, look: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_FOOT - y:.1f}" {look}/>'


def _bars(claim: Claim, data: pd.DataFrame, top: float) -> str:
    slot = (_RIGHT - _LEFT) / max(len(data), 1)
    width = min(0.72 * slot, 30)
    parts = []
    for i, (x, y, n) in enumerate(zip(data["x"], data["y"], data["n"], strict=True)):
        middle = _LEFT + (i + 0.5) * slot
        parts.append(_text(middle, _FOOT + 11, str(x), "middle"))
        if not np.isfinite(y):
            parts.append(_text(middle, _FOOT - 3, "none", "middle", MUTED, 8))
            continue
        color, few = GANG_COLORS.get(str(x), ACCENT), n < FEWEST_ROWS
        look = f'fill="#fff" stroke="{color}" stroke-dasharray="2 2"' if few else f'fill="{color}"'
        at = _y(y, top)
        parts.append(_bar(middle - width / 2, at, width, look))
        parts.append(_text(middle, at - 2, number(float(y)), "middle", size=8.5))
    return "".join(parts)


def _lengths(claim: Claim, data: pd.DataFrame, top: float) -> str:
    def x(seconds: float) -> float:
        return float(_LEFT + (_RIGHT - _LEFT) * np.log(seconds) / np.log(_LAST_S))

    ticks = ((60, "1 min"), (3_600, "1 h"), (86_400, "1 d"))
    at = x(claim.threshold)
    return (
        "".join(_text(x(s), _FOOT + 11, word, "middle") for s, word in ticks)
        + _line((at, _TOP), (at, _FOOT), CYCLE[1], "3 2")
        + _path(map(x, data["x"]), data, top)
    )


def _shares(claim: Claim, data: pd.DataFrame, top: float) -> str:
    scale = (_RIGHT - _LEFT) / 100
    tenth = float(np.interp(10, data["x"], data["y"]))
    x, y = _LEFT + scale * 10, _y(tenth, top)
    return (
        "".join(_text(_LEFT + scale * s, _FOOT + 11, f"{s} %", "middle") for s in (10, 50))
        + _text(_RIGHT, _FOOT + 11, "100 %", "end")
        + _path(_LEFT + scale * data["x"], data, top)
        + f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{CYCLE[1]}"/>'
        + _text(x + 6, y + 12, f"{number(tenth)} %", "start")
    )


def _cycle(claim: Claim, data: pd.DataFrame, top: float) -> str:
    slot = (_RIGHT - _LEFT) / len(data)
    level = _y(1, top)
    return (
        "".join(
            _bar(_LEFT + at * slot + 0.5, _y(y, top), slot - 1, f'fill="{ACCENT}"')
            for at, y in zip(data["x"], data["y"], strict=True)
        )
        + _line((_LEFT, level), (_RIGHT, level), CYCLE[1], "3 2")
        + "".join(
            _text(_LEFT + (at + 0.5) * slot, _FOOT + 11, str(at), "middle")
            for at in data["x"]
            if at % (6 if len(data) > 7 else 1) == 0
        )
    )
