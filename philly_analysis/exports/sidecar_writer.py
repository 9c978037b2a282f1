"""A file that appears whole with its side-car, or not at all.

The side-car comes first, and names the digest of each file that it tells of: where a writer is
killed before the file comes too, it is seen that they do not belong together.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from philly_analysis import atomic
from philly_analysis.errors import ExportError
from philly_analysis.trace import Digest, digests


def sidecar_of(file: Path) -> Path:
    """Return where the side-car of a file lies."""
    return file.with_name(file.name + ".json")


def contents(export: Path, known: Mapping[str, Digest] | None = None) -> dict[str, Digest]:
    """Return the size and digest of each file of an export; one that is a file itself is ``.``.

    `known` has those that they are to be compared with.
    """
    files = [path for path in export.rglob("*") if path.is_file()] if export.is_dir() else [export]
    return digests(export, sorted(path.relative_to(export).as_posix() for path in files), known)


def _belongs(export: Path, sidecar: Path) -> bool:
    """Tell whether an export is what a side-car tells of; one from before digests is."""
    try:
        told = json.loads(sidecar.read_text("utf-8")).get("digests")
        if told is None:
            return True
        known = {name: (size, of) for name, (size, of) in told.items()}
        return known == contents(export, known)
    except (ValueError, AttributeError, TypeError):
        return False


@contextmanager
def appearing(file: Path, force: bool) -> Iterator[Path]:
    """Give a path to write that becomes `file`, with its side-car, when the block ends well.

    Raises
    ------
    ExportError
        Something stands there that is not to be replaced, or it cannot be written.
    """
    sidecar = sidecar_of(file)
    if file.exists() and not force:
        if sidecar.is_file() and not _belongs(file, sidecar):
            raise ExportError(
                f"{file} is not what {sidecar.name} tells of: a writer was killed, or it was "
                "changed. Give another name, or force=True to replace it."
            )
        raise ExportError(f"{file} exists. Give another name, or force=True to replace it.")
    if file.exists() and not sidecar.is_file():
        raise ExportError(f"{file} is not an export (no {sidecar.name}), so it is not replaced.")
    try:
        with atomic.atomic_write(file) as partial:
            try:
                yield partial
                sidecar_of(partial).replace(sidecar)
            finally:
                sidecar_of(partial).unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(f"{file} cannot be written: {error.strerror or error}") from error
