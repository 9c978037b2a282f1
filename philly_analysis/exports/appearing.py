"""A file that appears whole with its side-car, or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from philly_analysis import whole
from philly_analysis.errors import ExportError


def sidecar_of(file: Path) -> Path:
    """Return where the side-car of a file lies."""
    return file.with_name(file.name + ".json")


@contextmanager
def appearing(file: Path, force: bool) -> Iterator[Path]:
    """Give a path to write that becomes `file`, with its side-car, when the block ends well."""
    sidecar = sidecar_of(file)
    if file.exists() and not force:
        raise ExportError(f"{file} exists. Give another name, or force=True to replace it.")
    if file.exists() and not sidecar.is_file():
        raise ExportError(f"{file} is not an export (no {sidecar.name}), so it is not replaced.")
    try:
        with whole.appearing(file) as partial:
            try:
                yield partial
                sidecar_of(partial).replace(sidecar)
            finally:
                sidecar_of(partial).unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(f"{file} cannot be written: {error.strerror or error}") from error
