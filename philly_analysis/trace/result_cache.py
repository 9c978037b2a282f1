"""Cache results of analyses and their figures beside a trace, and record its report.

A cache folder is named by a digest of the trace's manifest, the run policy, the libraries' versions
and the package's version. The version of an installed package includes the installer's digests of
the package's files. In a checkout, the newest modification of a file takes their place: after an
edit, every result is computed again by the next process. A file's name has a digest of its content,
so that a damaged file is ignored and computed again.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.atomic import atomic_write
from philly_analysis.results import Comparison, Fact, Result, Verdict
from philly_analysis.trace.code_identity import code_version, list_files
from philly_analysis.trace.trace import Trace

_METADATA = b"philly_analysis"
"""Key in the Parquet metadata of a result with all its fields but the table, as JSON."""
_FIELDS = tuple(f.name for f in fields(Result) if f.name not in ("table", "draw"))


_ACTIVE = re.compile(rb"script|<!(?!--)|<[?]|&#(?!39;)|[^\w]on\w+\s*=\s*[\"']", re.IGNORECASE)
"""Scripts, event handlers and entities in SVG, which no figure of the package has."""


def load_result(trace: Trace, name: str) -> Result | None:
    """Return a cached result; None: there is none, or it is damaged."""
    for data in _read(trace, name, ".parquet"):
        with suppress(ValueError, TypeError, KeyError, OSError, pa.ArrowException):
            if (result := _decoded(data)).name == name:
                return result
    return None


def store_result(trace: Trace, result: Result) -> None:
    """Cache a result, unless decoding it would not return an equal one."""
    with suppress(ValueError, TypeError, pa.ArrowException):
        data = _encoded(result)
        if _equal(_decoded(data), result):
            _write(trace, result.name, ".parquet", data)


def load_figure(trace: Trace, name: str) -> str | None:
    """Return a result's cached figure as SVG text; None: there is none, or it is damaged.

    A figure with active content is ignored: another program may have put it into a trace.
    """
    for data in _read(trace, f"{name}-{_style()}", ".svg"):
        with suppress(UnicodeDecodeError):
            if not _ACTIVE.search(data):
                return data.decode()
    return None


def store_figure(trace: Trace, name: str, svg: str) -> None:
    """Cache the figure of a result."""
    _write(trace, f"{name}-{_style()}", ".svg", svg.encode())


def record_page(trace: Trace, folder: Path) -> None:
    """Record that a folder has the report of a trace as its files are now."""
    _write(trace, f"page-{_style()}", ".txt", _listed(folder))


def is_unchanged(trace: Trace, folder: Path) -> bool:
    """Whether a folder has the report of this trace, by this version, as it was recorded."""
    return _listed(folder) in _read(trace, f"page-{_style()}", ".txt")


def _listed(folder: Path) -> bytes:
    return repr(list_files(folder.absolute())).encode()


def load_table(trace: Trace, name: str) -> pa.Table | None:
    """Return a cached table; None: there is none, or it is damaged."""
    return next((pq.read_table(BytesIO(data)) for data in _read(trace, name, ".parquet")), None)


def store_table(trace: Trace, name: str, table: pa.Table) -> None:
    """Cache a table."""
    out = BytesIO()
    pq.write_table(table, out, compression="zstd")
    _write(trace, name, ".parquet", out.getvalue())


def _encoded(result: Result) -> bytes:
    other = {name: getattr(result, name) for name in _FIELDS} | {
        "facts": [asdict(fact) for fact in result.facts],
        "comparisons": [asdict(comparison) for comparison in result.comparisons],
        "verdict": result.verdict and asdict(result.verdict),
    }
    table = pa.Table.from_pandas(result.table)
    metadata = (table.schema.metadata or {}) | {_METADATA: json.dumps(other)}
    out = BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), out)
    return out.getvalue()


def _decoded(data: bytes) -> Result:
    table = pq.read_table(BytesIO(data))
    other: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(table.schema.metadata[_METADATA]).items()
    }
    other["facts"] = tuple(Fact(**fact) for fact in other["facts"])
    other["comparisons"] = tuple(Comparison(**comparison) for comparison in other["comparisons"])
    other["verdict"] = other["verdict"] and Verdict(**other["verdict"])
    return Result(table=table.to_pandas(), **other)


def _equal(one: Result, other: Result) -> bool:
    return (
        one.table.equals(other.table)
        and list(one.table.dtypes) == list(other.table.dtypes)
        and repr((one.table.index, one.table.columns, one.table.attrs))
        == repr((other.table.index, other.table.columns, other.table.attrs))
        # as text, which differs between 1, 1.0 and True
        and all(repr(getattr(one, name)) == repr(getattr(other, name)) for name in _FIELDS)
    )


def _read(trace: Trace, stem: str, suffix: str) -> Iterator[bytes]:
    """Yield the contents of a stem's files that match the digests in their names."""
    for folder in _folders(trace):
        for file in sorted(folder.glob(f"{stem}-*{suffix}")):
            with suppress(OSError):
                data = file.read_bytes()
                if file.name == f"{stem}-{_digest(data)}{suffix}":
                    yield data


def _write(trace: Trace, stem: str, suffix: str, data: bytes) -> None:
    """Write a file atomically. The first of a folder removes folders of other versions."""
    for folder in _folders(trace):
        try:
            if not folder.is_dir():
                for stale in folder.parent.glob(f"{_kind(trace)}-*"):
                    shutil.rmtree(stale, ignore_errors=True)
                folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(folder / f"{stem}-{_digest(data)}{suffix}") as partial:
                partial.write_bytes(data)
        except OSError:  # a trace on a read-only disk: cache it for this session
            continue
        return


def _folders(trace: Trace) -> list[Path]:
    """Return the trace's cache folder and this session's; none: results cannot be cached."""
    try:
        return trace.folders(_kind(trace), code) if (code := code_version()) else []
    except OSError:
        return []


def _kind(trace: Trace) -> str:
    return f"answers-{trace.run_policy}"


def _style() -> str:
    """Return a digest of the user's own matplotlib settings, which figures may leave in effect."""
    import matplotlib as mpl

    settings = [(k, v) for k, v in dict.items(mpl.rcParams) if not k.startswith("backend")]
    return _digest(repr(sorted(settings)).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
