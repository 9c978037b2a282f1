"""Writes a figure as SVG text: drawn once, the same for the same figure, a few kilobytes.

What matplotlib says as styles is said as attributes, which a page may show under a policy that
allows no styles but its own.
"""

import hashlib
import io
import re

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from philly_analysis.results.figures.drawing import laid_out
from philly_analysis.results.figures.hover import name_marks, with_values
from philly_analysis.results.figures.style import STYLE

_UNSAID = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_DRAWN = re.compile(r' (?:d|x|y)="[^"]*"| transform="translate\([^)]*')
_COORDINATE = re.compile(r"-?\d+\.\d+")
_MARK = re.compile(r'(\bid="|href="#|url\(#)([a-z][0-9a-f]{10})\b')
_STYLED = re.compile(r'(<\w[^<>]*?) style="([^"]*)"')
_RULE = re.compile(r"<defs>\s*<style[^>]*>\*\{([^{}]*)\}</style>\s*</defs>")
"""What matplotlib says of all marks."""
_FONT = "font-family"
"""What each text says, and the whole figure may say once."""
_GAPS = re.compile(r">\n\s*<")


def svg(fig: Figure) -> str:
    """Return a figure as SVG text, without XML preamble, the same for the same figure."""
    out = io.StringIO()
    canvas = FigureCanvasSVG(fig)
    # laid out here and drawn once: savefig draws twice, the first time for the layout alone
    with mpl.rc_context(STYLE), laid_out(fig):
        name_marks(fig)
        canvas.print_svg(out, metadata=_UNSAID)  # type: ignore[no-untyped-call]
    text = out.getvalue()
    text = _GAPS.sub("><", text[text.index("<svg") :])
    [rule] = _RULE.findall(text)
    whole = f'<svg font-family="DejaVu Sans, sans-serif"{_attributes(rule)}'
    text = _STYLED.sub(lambda m: m[1] + _attributes(m[2]), _RULE.sub("", text))
    text = with_values(_DRAWN.sub(_rounded, text.replace("<svg", whole, 1)), fig)
    # figures of one page may draw the same mark
    own = hashlib.sha256(text.encode()).hexdigest()[:8]
    return _MARK.sub(rf"\g<1>{own}-\g<2>", text)


def _attributes(style: str) -> str:
    """Return a style's properties as attributes, which SVG has for each of those in use."""
    said = (declared.partition(":") for declared in style.split(";") if declared.strip())
    properties = {name.strip(): value.strip() for name, _, value in said}
    return "".join(f' {name}="{v}"' for name, v in properties.items() if name != _FONT)


def _rounded(attribute: re.Match[str]) -> str:
    """Round coordinates to a tenth of a point, which nobody sees."""
    return _COORDINATE.sub(lambda m: f"{float(m[0]):.1f}".rstrip("0").rstrip("."), attribute[0])
