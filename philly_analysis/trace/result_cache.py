"""Answers that a trace keeps, beside the relations that it stores: Results, and their figures.

A folder of them is named after all that they rest on: the trace as it stands, the run policy, the
package's files and the versions of what it computes with. A file in it is named after its own
content, so that a damaged one is told and computed anew.
"""

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.atomic import atomic_write
from philly_analysis.results import Comparison, Fact, Result
from philly_analysis.trace.trace import Trace

_PACKAGE = Path(__file__).parents[1]
_ENGINES = ("duckdb", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "scipy")
_WORDS = b"philly_analysis"
"""Where the Parquet file of an answer has all of it but the table, as JSON."""
_SAME = tuple(f.name for f in fields(Result) if f.name not in ("table", "draw"))

_TAGS = frozenset(
    "svg metadata RDF Work type format creator Agent title defs g path rect text tspan use "  # noqa: SIM905 - as a list it takes a line each
    "clipPath image pattern".split()
)
"""What our figures are made of."""
_LINKS = ("#", "data:image/png;base64,")
_REACHES = re.compile(r"\\|url\((?!#)", re.IGNORECASE)
_COMMENT = re.compile(r"<!--[^<>]*-->")


def load_result(trace: Trace, name: str) -> Result | None:
    """Return an answer that a trace keeps; None: it has none, or a damaged one."""
    for data in _read(trace, name, ".parquet"):
        with suppress(ValueError, TypeError, KeyError, OSError, pa.ArrowException):
            if (found := _decoded(data)).name == name:
                return found
    return None


def store_result(trace: Trace, result: Result) -> None:
    """Keep an answer, where there is room for it and it comes back as it was."""
    with suppress(ValueError, TypeError, pa.ArrowException):
        data = _encoded(result)
        if _equal(_decoded(data), result):
            _write(trace, result.name, ".parquet", data)


def load_figure(trace: Trace, name: str) -> str | None:
    """Return a figure that a trace keeps, as SVG text that does nothing; None: it keeps none."""
    for data in _read(trace, f"{name}-{_look()}", ".svg"):
        with suppress(UnicodeDecodeError):
            if not (text := data.decode()) or inert(text):
                return text
    return None


def store_figure(trace: Trace, name: str, svg: str) -> None:
    """Keep the figure of an answer, where there is room for it."""
    _write(trace, f"{name}-{_look()}", ".svg", svg.encode())


def inert(svg: str) -> bool:
    """Tell whether a drawing only draws: a trace that came from elsewhere may keep anything."""
    plain = _COMMENT.sub("", svg)
    if any(mark in plain for mark in ("<!", "<?", "<title")):  # HTML ends them elsewhere than XML
        return False
    try:
        root = ET.fromstring(plain)  # noqa: S314 - there are no entities in it
    except ET.ParseError:
        return False
    return all(map(_draws, root.iter()))


def _draws(element: ET.Element) -> bool:
    return (
        _local(element.tag) in _TAGS
        and not any(_REACHES.search(text) for text in element.attrib.values())
        and not any(_local(key).startswith(("on", "style")) for key in element.attrib)
        and all(v.startswith(_LINKS) for k, v in element.attrib.items() if _local(k) == "href")
    )


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _encoded(result: Result) -> bytes:
    words = {name: getattr(result, name) for name in _SAME} | {
        "facts": [asdict(fact) for fact in result.facts],
        "comparisons": [asdict(comparison) for comparison in result.comparisons],
    }
    table = pa.Table.from_pandas(result.table)
    known = table.schema.metadata or {}
    out = BytesIO()
    pq.write_table(table.replace_schema_metadata({**known, _WORDS: json.dumps(words)}), out)
    return out.getvalue()


def _decoded(data: bytes) -> Result:
    table = pq.read_table(BytesIO(data))
    words = json.loads(table.schema.metadata[_WORDS])
    for name, value in words.items():
        if isinstance(value, list):
            words[name] = tuple(value)
    found = Result(table=table.to_pandas(), **words)
    return replace(
        found,
        facts=tuple(Fact(**fact) for fact in words["facts"]),
        comparisons=tuple(Comparison(**comparison) for comparison in words["comparisons"]),
    )


def _equal(one: Result, other: Result) -> bool:
    return (
        one.table.equals(other.table)
        and list(one.table.dtypes) == list(other.table.dtypes)
        and repr((one.table.index, one.table.columns, one.table.attrs))
        == repr((other.table.index, other.table.columns, other.table.attrs))
        # as text, which tells 1 from 1.0 and from True
        and all(repr(getattr(one, name)) == repr(getattr(other, name)) for name in _SAME)
    )


def _read(trace: Trace, stem: str, suffix: str) -> Iterator[bytes]:
    """Yield what the files of a stem hold that are what their names say."""
    for folder in _folders(trace):
        for file in sorted(folder.glob(f"{stem}-*{suffix}")):
            with suppress(OSError):
                data = file.read_bytes()
                if file.name == f"{stem}-{_digest(data)}{suffix}":
                    yield data


def _write(trace: Trace, stem: str, suffix: str, data: bytes) -> None:
    """Write a file whole or not at all; the first of a folder removes those of other contents."""
    if _stamp() != _LOADED:  # the code that computes is not the code that is there
        return
    for folder in _folders(trace):
        try:
            if not folder.is_dir():
                for stale in folder.parent.glob(f"{_kind(trace)}-*"):
                    shutil.rmtree(stale, ignore_errors=True)
                folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(folder / f"{stem}-{_digest(data)}{suffix}") as partial:
                partial.write_bytes(data)
        except OSError:  # a trace on a read-only disk: keep it for this session only
            continue
        return


def _folders(trace: Trace) -> list[Path]:
    """Return the folders of answers: the trace's own, and this session's; none: keep nothing."""
    try:
        return trace.folders(_kind(trace), code) if (code := _code()) else []
    except OSError:
        return []


def _kind(trace: Trace) -> str:
    return f"answers-{trace.run_policy}"


def _stamp() -> list[tuple[str, int, int]]:
    """Return the package's files, when each was changed, and its size."""
    found = []
    folders = [os.fspath(_PACKAGE)]
    for folder in folders:  # grows while it is walked
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir():
                    stat = entry.stat()
                    found.append((entry.path, stat.st_mtime_ns, stat.st_size))
                elif entry.name != "__pycache__":
                    folders.append(entry.path)
    return sorted(found)


_LOADED = _stamp()


@cache
def _code() -> str:
    """Return a digest of the package's files, and of the versions of what it computes with.

    Empty where there are none to read, or they were changed since they were loaded.
    """
    versions = [platform.python_version(), *(version(name) for name in _ENGINES)]
    try:
        files = [
            f"{Path(path).relative_to(_PACKAGE).as_posix()} {_digest(Path(path).read_bytes())}"
            for path, _, _ in _LOADED
        ]
    except OSError:
        return ""
    return "\n".join([*versions, *files]) if files and _stamp() == _LOADED else ""


def _look() -> str:
    """Return a digest of the user's own settings of figures, where ours leave them."""
    chosen = [(k, v) for k, v in dict.items(mpl.rcParams) if not k.startswith("backend")]
    return _digest(repr(sorted(chosen)).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
