"""Verify a trace's files against the checksums in its manifest.

Sizes are compared when a trace is opened. Small files are compared by digest in each session that
reads them. Large files are compared when they are first read and after they were changed: the file
``derived/checked.json`` records their modification times. :func:`verify` reads all files, and finds
damage that left the modification time of a large file unchanged.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.atomic import atomic_write, recover
from philly_analysis.errors import TraceError
from philly_analysis.trace.checksums import Digest, digest, digests
from philly_analysis.trace.manifest import DERIVED, MANIFEST, Manifest
from philly_analysis.trace.object_storage import RemoteFolder, is_address

if TYPE_CHECKING:
    import pandas as pd

CHECKED = "checked.json"
"""File in ``derived`` with the size and modification time of each file when it was checked."""
SUMS = "sums.json"
"""File in the folder of a materialized relation with the checksums of its parts."""
_SMALL_BYTES = 4 << 20
"""Largest size of files that are read again in each session, in a hundredth of a second."""
_HINT = "Ingest the trace again, or restore it from a copy."


def with_digests(folder: Path, manifest: Manifest, recorded: Mapping[str, Digest]) -> Manifest:
    """Return a manifest with the digest of each of its files.

    Parameters
    ----------
    folder
        Folder of the files.
    recorded
        Digests that were recorded before, by path.
    """
    new = digests(folder, (file for file in manifest.every_file if file not in recorded))
    _record_checked(folder, new)
    return replace(manifest, digests={f: new.get(f) or recorded[f] for f in manifest.every_file})


def check_sizes(trace: Path, manifest: Manifest) -> None:
    """Raise TraceError if a file is missing or has a size that differs from the manifest."""
    for file in manifest.every_file:
        if file in manifest.digests:
            [actual, _] = _file_state(trace / file)
            size, _ = manifest.digests[file]
            if actual != size:
                raise TraceError(
                    f"{trace / file} has {actual:,} bytes; its manifest has {size:,}. {_HINT}"
                )


def check_digests(trace: Path, manifest: Manifest, tables: Iterable[str]) -> None:
    """Raise TraceError if a file of some tables is missing or damaged."""
    files = [f for name in tables for f in manifest.files.get(name, ()) if f in manifest.digests]
    if not files:  # most queries read no further table
        return
    checked = _read_checked(trace)
    states = {file: _file_state(trace / file) for file in files}
    new = [file for file, state in states.items() if checked.get(file) != state]
    due = sorted({*new, *(file for file, (size, _) in states.items() if size <= _SMALL_BYTES)})
    for file, actual in digests(trace, due, manifest.digests).items():
        if actual != tuple(manifest.digests[file]):
            raise TraceError(
                f"{trace / file} is damaged: its digest is not the one in its manifest. {_HINT}"
            )
    if new:
        _record_checked(trace, due)


def write_part_checksums(folder: Path, name: str) -> None:
    """Record the checksums of a materialized relation's parts, under its folder's final name."""
    checksums = digests(folder, sorted(path.name for path in folder.glob("*.parquet")))
    parts = {file: [*_state(folder / file), of] for file, (_, of) in checksums.items()}
    (folder / SUMS).write_text(json.dumps({"of": name, "parts": parts}), "utf-8")


def parts_valid(folder: Path, *, read_all: bool = False) -> bool:
    """Return whether a materialized relation exists and its parts match their checksums.

    Parameters
    ----------
    read_all
        Read all parts; by default only small parts, and parts that were changed since the last
        check.
    """
    try:
        sums = json.loads((folder / SUMS).read_text("utf-8"))
        parts = sums["parts"]
        if sums["of"] != folder.name or parts.keys() != {p.name for p in folder.glob("*.parquet")}:
            return False
        due = [
            file
            for file, (size, changed, _) in parts.items()
            if read_all or size <= _SMALL_BYTES or [size, changed] != _state(folder / file)
        ]
        return all(parts[file][-1] == actual for file, (_, actual) in digests(folder, due).items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def verify(trace: str | Path) -> "pd.DataFrame":
    """Verify each file of a trace against its checksum.

    Parameters
    ----------
    trace
        Trace to verify: a folder, or an object-storage URL whose files are read remotely.

    Returns
    -------
    pandas.DataFrame
        A row per file: file, bytes, state: ``intact``, ``damaged``, ``missing``, or ``not known``
        in a trace without checksums. Damaged files that were computed from the trace are removed,
        and will be computed again: ``damaged, removed``.

    Raises
    ------
    TraceError
        The folder is no trace.
    """
    import pandas as pd

    remote = RemoteFolder(trace) if is_address(trace) else None
    folder = recover(Path(trace))
    manifest = remote.manifest(remote.manifest_text()) if remote else Manifest.read(folder)
    rows: list[tuple[str, int | None, str]] = []
    for file in manifest.every_file:
        expected = manifest.digests.get(file)
        like = expected[1] if expected else ""
        try:
            actual = remote.digest(file, like) if remote else digest(folder / file, like)
        except FileNotFoundError:
            rows.append((file, None, "missing"))
            continue
        state = "intact" if expected and tuple(expected) == actual else "damaged"
        rows.append((file, actual[0], state if expected else "not known"))
    for derived in sorted((folder / DERIVED).glob("*.parquet/")):
        size = sum(path.stat().st_size for path in derived.glob("*.parquet"))
        if not (valid := parts_valid(derived, read_all=True)):
            shutil.rmtree(derived, ignore_errors=True)
        name = f"{DERIVED}/{derived.name}"
        rows.append((name, size, "intact" if valid else "damaged, removed"))
    return pd.DataFrame(rows, columns=["file", "bytes", "state"]).astype({"bytes": "Int64"})


def _file_state(path: Path) -> list[int]:
    try:
        return _state(path)
    except OSError:
        raise TraceError(f"{path} is missing, which {MANIFEST} lists. {_HINT}") from None


def _state(path: Path) -> list[int]:
    """Return a file's size and modification time."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _read_checked(trace: Path) -> dict[str, list[int]]:
    try:
        checked = json.loads((trace / DERIVED / CHECKED).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return checked if isinstance(checked, dict) else {}


def _record_checked(trace: Path, files: Iterable[str]) -> None:
    """Record that files match their checksums, if the trace's folder can be written."""
    checked = _read_checked(trace) | {file: _state(trace / file) for file in files}
    with suppress(OSError), atomic_write(trace / DERIVED / CHECKED) as partial:
        partial.write_text(json.dumps(checked), "utf-8")
