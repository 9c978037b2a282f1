"""Draw the packages, their layers and the four nouns from the import contract, as SVG."""

import ast
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "philly_analysis"

NOUNS = {"Trace": "trace", "Result": "results", "Model": "models", "Workload": "workload"}
"""The package that defines each noun."""

FLOWS = (
    ("raw logs", "ingest", "Trace"),
    ("Trace", "analyses", "Result"),
    ("Result", "report", "pages"),
    ("Trace", "models", "Model"),
    ("Model", "models", "Workload"),
    ("Workload", "simulator", "Trace"),
    ("Workload", "exports", "other simulators"),
)
"""What each package makes: from what, by which package, what."""

_COLORS = {"Trace": "#2a6f97", "Result": "#b5541c", "Model": "#5b7f2b", "Workload": "#7d4f9e"}
_PLACES = {
    "raw logs": (85, 60),
    "Trace": (335, 60),
    "Result": (605, 60),
    "pages": (860, 60),
    "Model": (335, 160),
    "Workload": (605, 160),
    "other simulators": (860, 160),
}
_WIDTH, _GAP, _LINE, _TOP = 960, 8, 14, 215
_NODE = (140, 32)


def layers() -> list[list[str]]:
    """Return the packages of each layer, from the top, as the import contract lists them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    [contract] = [c for c in contracts["contracts"] if c["type"] == "layers"]
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def summary(name: str) -> str:
    """Return the first line of a package's or module's docstring."""
    file = PACKAGE / name / "__init__.py"
    source = file if file.is_file() else PACKAGE / f"{name}.py"
    doc = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return doc.split("\n")[0].replace("``", "")


def svg() -> str:
    """Draw the flow between the nouns, and below it the layers."""
    rows: list[str] = []
    y = float(_TOP)
    for layer in layers():
        width = (_WIDTH - 2 * _GAP - (len(layer) - 1) * _GAP) / len(layer)
        texts = [textwrap.wrap(summary(name), round(width / 6.6)) for name in layer]
        height = 30 + _LINE * max(map(len, texts))
        for i, (name, lines) in enumerate(zip(layer, texts, strict=True)):
            rows += _box(name, lines, _GAP + i * (width + _GAP), y, width, height)
        y += height + _GAP
    parts = [*_flow(), *rows]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:g}" '
        'font-family="system-ui, sans-serif" font-size="11">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>\n'
        f'<rect width="{_WIDTH}" height="{y:g}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _box(
    name: str, lines: list[str], x: float, y: float, width: float, height: float
) -> Iterator[str]:
    """Yield a package's box: its name, the noun that it defines, and its summary."""
    [color] = [_COLORS[n] for n, package in NOUNS.items() if package == name] or ["#999"]
    strong = 2 if color != "#999" else 1
    yield (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="#f7f7f5" '
        f'stroke="{color}" stroke-width="{strong}"/>'
    )
    yield _text(name, x + 8, y + 18, anchor="start", weight="bold", color="#222", size=13)
    for noun in (n for n, package in NOUNS.items() if package == name):
        yield _text(noun, x + width - 8, y + 18, anchor="end", weight="bold", color=color, size=12)
    for i, line in enumerate(lines):
        yield _text(line, x + 8, y + 34 + _LINE * i, anchor="start", color="#444")


def _flow() -> Iterator[str]:
    """Yield the nouns, and an arrow for each package that makes one from another."""
    width, height = _NODE
    for name, (x, y) in _PLACES.items():
        color = _COLORS.get(name, "#fff")
        yield (
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width}" '
            f'height="{height}" rx="16" fill="{color}" stroke="#999"/>'
        )
        ink = "#fff" if name in _COLORS else "#222"
        yield _text(name, x, y + 5, weight="bold", color=ink, size=13)
    for source, package, target in FLOWS:
        (x0, y0), (x1, y1) = (map(float, _PLACES[name]) for name in (source, target))
        if y0 == y1:
            line = x0 + width / 2, y0, x1 - width / 2 - 2, y1
            label = (line[0] + line[2]) / 2, y0 - 6
        elif x0 == x1:
            line = x0, y0 + height / 2, x1, y1 - height / 2 - 2
            label = x0 - 28, (y0 + y1) / 2 + 4
        else:
            line = x0 - width / 2 + 10, y0 - height / 2, x1 + width / 2 - 10, y1 + height / 2 + 2
            label = (x0 + x1) / 2 + 52, (y0 + y1) / 2 + 4
        x0, y0, x1, y1 = line
        yield (
            f'<path d="M{x0:g} {y0:g}L{x1:g} {y1:g}" stroke="#555" stroke-width="1.5" '
            'marker-end="url(#tip)"/>'
        )
        yield _text(package, *label, color="#222", size=12)


def _text(
    text: str,
    x: float,
    y: float,
    *,
    color: str,
    anchor: str = "middle",
    weight: str = "normal",
    size: int = 11,
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}" '
        f'font-size="{size}" fill="{color}">{escape(text)}</text>'
    )
