"""Whether the files of a trace are as they were written: never other numbers without a word.

A manifest names each file's size and digest. Sizes are looked at whenever a trace is opened. The
digest of a small file is compared in each session that reads it; that of a large one when it is
first read, and again once it was touched: what was checked, and when the file was last changed
then, is kept in the trace beside what was computed from it. :func:`verify` reads everything once
more, and so finds what changed in large files under an unchanged date.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import TraceError
from philly_analysis.trace.checksums import Digest, digest, digests
from philly_analysis.trace.manifest import DERIVED, MANIFEST, Manifest
from philly_analysis.trace.object_storage import digest_at, is_address, manifest_at

if TYPE_CHECKING:
    import pandas as pd

CHECKED = "checked.json"
"""File in ``derived`` that says which files were found as written, and when they were changed."""
SUMS = "sums.json"
"""File in the folder of a stored relation that says what its parts are."""
_SMALL = 4 << 20
"""Bytes of a file that is read again in each session: a hundredth of a second."""
_AGAIN = "Ingest the trace again, or restore it from where it was copied."


def with_digests(folder: Path, manifest: Manifest, known: Mapping[str, Digest]) -> Manifest:
    """Return a manifest that names the digest of each of its files.

    Parameters
    ----------
    folder
        Where the files are.
    known
        Digests of files that were there before, by their paths.
    """
    new = digests(folder, (file for file in manifest.every_file if file not in known))
    _note(folder, new)
    return replace(manifest, digests={f: new.get(f) or known[f] for f in manifest.every_file})


def check_sizes(trace: Path, manifest: Manifest) -> None:
    """Refuse a trace of which a file is gone or has another size.

    Raises
    ------
    TraceError
        It says which.
    """
    for file in manifest.every_file:
        if file not in manifest.digests:
            continue
        path, (size, _) = trace / file, manifest.digests[file]
        [found, _] = _there(path)
        if found != size:
            raise TraceError(f"{path} has {found:,} bytes, and {size:,} were written. {_AGAIN}")


def check(trace: Path, manifest: Manifest, tables: Iterable[str]) -> None:
    """Refuse tables of which a file is not as it was written.

    Raises
    ------
    TraceError
        It says which.
    """
    files = [f for name in tables for f in manifest.files.get(name, ()) if f in manifest.digests]
    if not files:  # most questions read no table anew
        return
    noted = _noted(trace)
    states = {file: _there(trace / file) for file in files}
    new = [file for file, state in states.items() if noted.get(file) != state]
    due = {*new, *(file for file, (size, _) in states.items() if size <= _SMALL)}
    found = digests(trace, sorted(due), manifest.digests)
    for file in sorted(due):
        if found[file] != tuple(manifest.digests[file]):
            raise TraceError(
                f"{trace / file} is damaged: its digest is not the one that was written. {_AGAIN}"
            )
    if new:
        _note(trace, found)


def write_part_checksums(folder: Path, name: str) -> None:
    """Write into the folder of a stored relation, which gets a name, what its parts are."""
    parts = digests(folder, sorted(path.name for path in folder.glob("*.parquet")))
    told = {name: [*_state(folder / name), of] for name, (_, of) in parts.items()}
    (folder / SUMS).write_text(json.dumps({"of": name, "parts": told}), "utf-8")


def parts_intact(folder: Path, *, throughout: bool = False) -> bool:
    """Tell whether a stored relation is there, and its parts are as they were written.

    Parameters
    ----------
    throughout
        Read them all; otherwise only those that are small, or were touched since.
    """
    try:
        sums = json.loads((folder / SUMS).read_text("utf-8"))
        told = sums["parts"]
        if sums["of"] != folder.name or told.keys() != {p.name for p in folder.glob("*.parquet")}:
            return False
        due = [
            name
            for name, (size, changed, _) in told.items()
            if throughout or size <= _SMALL or [size, changed] != _state(folder / name)
        ]
        return all(told[name][-1] == found for name, (_, found) in digests(folder, due).items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def verify(trace: str | Path) -> "pd.DataFrame":
    """Say of each file of a trace whether it is as written.

    Parameters
    ----------
    trace
        Folder of a trace; or its address on object storage, whose files are then read there.

    Returns
    -------
    pandas.DataFrame
        A row per file: file, bytes, state: ``as written``, ``damaged``, ``missing``, or ``not
        known`` in a trace from before digests were kept. What was computed from the trace and is
        damaged is removed, and will be computed again: ``damaged, removed``.

    Raises
    ------
    TraceError
        The folder is no trace.
    """
    import pandas as pd

    afar = is_address(trace)
    manifest = manifest_at(trace) if afar else Manifest.read(Path(trace))
    rows: list[tuple[str, int | None, str]] = []
    for file in manifest.every_file:
        path = Path(trace) / file
        wanted = manifest.digests.get(file)
        like = wanted[1] if wanted else ""
        if afar:
            found = digest_at(trace, file, like)
        else:
            found = digest(path, like) if path.is_file() else None
        if found is None:
            rows.append((file, None, "missing"))
            continue
        state = "as written" if wanted and tuple(wanted) == found else "damaged"
        rows.append((file, found[0], state if wanted else "not known"))
    for folder in sorted((Path(trace) / DERIVED).glob("*.parquet/")):
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        if not (whole := parts_intact(folder, throughout=True)):
            shutil.rmtree(folder, ignore_errors=True)
        name = folder.relative_to(Path(trace)).as_posix()
        rows.append((name, size, "as written" if whole else "damaged, removed"))
    return pd.DataFrame(rows, columns=["file", "bytes", "state"]).astype({"bytes": "Int64"})


def _there(path: Path) -> list[int]:
    """Return the state of a file of a trace.

    Raises
    ------
    TraceError
        It is not there.
    """
    try:
        return _state(path)
    except OSError:
        raise TraceError(f"{path} is missing, which {MANIFEST} names. {_AGAIN}") from None


def _state(path: Path) -> list[int]:
    """Return what changes when a file is touched."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _noted(trace: Path) -> dict[str, list[int]]:
    try:
        told = json.loads((trace / DERIVED / CHECKED).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _note(trace: Path, files: Iterable[str]) -> None:
    """Keep that files were found as written, where that can be kept."""
    told = _noted(trace) | {file: _state(trace / file) for file in files}
    with suppress(OSError), atomic_write(trace / DERIVED / CHECKED) as partial:
        partial.write_text(json.dumps(told), "utf-8")
