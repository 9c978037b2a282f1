"""Replace an export and its sidecar together.

The sidecar is replaced first and names the digest of each file. If a writer is killed between the
two replacements, the digests show that they do not match.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from philly_analysis import atomic
from philly_analysis.errors import ExportError
from philly_analysis.trace import Digest, digests


def sidecar_of(file: Path) -> Path:
    """Return the path of a file's sidecar."""
    return file.with_name(file.name + ".json")


def export_digests(export: Path, known: Mapping[str, Digest] | None = None) -> dict[str, Digest]:
    """Return the size and digest of each file of an export; one that is a file itself is ``.``.

    `known` has digests to compare with.
    """
    files = [path for path in export.rglob("*") if path.is_file()] if export.is_dir() else [export]
    return digests(export, sorted(path.relative_to(export).as_posix() for path in files), known)


def _matches(export: Path, sidecar: Path) -> bool:
    """Return whether an export has the digests of its sidecar, or the sidecar has none."""
    try:
        recorded = json.loads(sidecar.read_text("utf-8")).get("digests")
        if recorded is None:
            return True
        known = {name: (size, of) for name, (size, of) in recorded.items()}
        return known == export_digests(export, known)
    except (ValueError, AttributeError, TypeError):
        return False


@contextmanager
def replace_export(file: Path, force: bool) -> Iterator[Path]:
    """Yield a path to write; it replaces `file`, and its sidecar that of `file`, at the end.

    Raises
    ------
    ExportError
        A file exists that must not be replaced, or `file` cannot be written.
    """
    sidecar = sidecar_of(file)
    if file.exists() and not force:
        if sidecar.is_file() and not _matches(file, sidecar):
            raise ExportError(
                f"{file} does not match the digests in {sidecar.name}: a writer was killed, or "
                "the file was changed. Give another name, or force=True to replace it."
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
