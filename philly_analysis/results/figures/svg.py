"""Write a figure as compact, reproducible SVG text.

Matplotlib's styles become attributes, which a page may use under a content security policy that
forbids inline styles.
"""

import hashlib
import io
import re

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from philly_analysis.results.figures.drawing import final_layout
from philly_analysis.results.figures.hover import add_hover_data, name_marks
from philly_analysis.results.figures.style import STYLE

_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_POSITIONS = re.compile(r' (?:d|x|y)="[^"]*"| transform="translate\([^)]*')
_COORDINATE = re.compile(r"-?\d+\.\d+")
_MARK = re.compile(r'(\bid="|href="#|url\(#)([a-z][0-9a-f]{10})\b')
_STYLED = re.compile(r'(<\w[^<>]*?) style="([^"]*)"')
_RULE = re.compile(r"<defs>\s*<style[^>]*>\*\{([^{}]*)\}</style>\s*</defs>")
"""Matplotlib's style rule for all marks."""
_FONT = "font-family"
"""Property of every text, which the root element sets once."""
_GAPS = re.compile(r">\n\s*<")


def svg(fig: Figure) -> str:
    """Return a figure as SVG text without XML preamble, equal for equal figures."""
    out = io.StringIO()
    canvas = FigureCanvasSVG(fig)
    # laid out here and drawn once: savefig draws a second time for the layout alone
    with mpl.rc_context(STYLE), final_layout(fig):
        name_marks(fig)
        canvas.print_svg(out, metadata=_NO_METADATA)  # type: ignore[no-untyped-call]
    text = out.getvalue()
    text = _GAPS.sub("><", text[text.index("<svg") :])
    [rule] = _RULE.findall(text)
    root = f'<svg font-family="DejaVu Sans, sans-serif"{_attributes(rule)}'
    text = _STYLED.sub(lambda m: m[1] + _attributes(m[2]), _RULE.sub("", text))
    text = add_hover_data(_POSITIONS.sub(_rounded, text.replace("<svg", root, 1)), fig)
    # matplotlib's ids depend on the last digits of sums; two figures of a page may have the same
    # ids
    numbers: dict[str, str] = {}
    plain = _MARK.sub(lambda m: m[1] + numbers.setdefault(m[2], f"m{len(numbers)}"), text)
    digest = hashlib.sha256(plain.encode()).hexdigest()[:8]
    return _MARK.sub(lambda m: f"{m[1]}{digest}-{numbers[m[2]]}", text)


def _attributes(style: str) -> str:
    """Return the properties of a style as SVG attributes."""
    pairs = (declared.partition(":") for declared in style.split(";") if declared.strip())
    properties = {name.strip(): value.strip() for name, _, value in pairs}
    return "".join(f' {name}="{v}"' for name, v in properties.items() if name != _FONT)


def _rounded(attribute: re.Match[str]) -> str:
    """Round coordinates to a tenth of a point."""
    return _COORDINATE.sub(lambda m: f"{float(m[0]):.1f}".rstrip("0").rstrip("."), attribute[0])
