"""Unpack tar and zip archives, with no file outside of the folder."""

import shutil
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from philly_analysis.errors import InputError

UNPACKED_TIMES = 40
"""Limit on the size of an unpacked archive, as a multiple of its own."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A file in an archive."""

    name: str
    size: int
    open: Callable[[], Any]


def members(archive: Path) -> dict[str, int]:
    """Return the sizes of the files in an archive, by the path that each is unpacked to.

    Raises
    ------
    InputError
        The archive is damaged, or has files outside of its folder.
    """
    with _opened(archive) as packed:
        return {path: member.size for path, member in packed.items()}


def unpack_archive(archive: Path, folder: Path) -> None:
    """Unpack the files of an archive into a folder.

    Files of one name in several folders are unpacked as NAME_FOLDER beside each other.

    Raises
    ------
    InputError
        The archive is damaged, has files outside of its folder, or would be too large.
    OSError
        A file cannot be written, or exists.
    """
    most = UNPACKED_TIMES * archive.stat().st_size
    with _opened(archive) as packed:
        if sum(member.size for member in packed.values()) > most:
            raise InputError(f"{archive.name} would unpack to more than {most:,} bytes.")
        for path, member in packed.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("xb") as out, member.open() as content:
                shutil.copyfileobj(content, out)


@contextmanager
def _opened(archive: Path) -> Iterator[dict[str, _Member]]:
    """Yield the files of an archive by the path that each is unpacked to."""
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as zipped:
                infos = [info for info in zipped.infolist() if not info.is_dir()]
                yield _by_path(
                    archive,
                    [_Member(i.filename, i.file_size, partial(zipped.open, i)) for i in infos],
                )
        else:
            with tarfile.open(archive) as tar:
                files = [m for m in tar if m.isfile()]
                yield _by_path(
                    archive, [_Member(m.name, m.size, partial(tar.extractfile, m)) for m in files]
                )
    except (
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error),
        *(EOFError, NotImplementedError, RuntimeError),
    ) as error:
        raise InputError(f"{archive.name} cannot be unpacked: {error}") from None


def _by_path(archive: Path, packed: Iterable[_Member]) -> dict[str, _Member]:
    """Return files by the path that each is unpacked to, without macOS's ``._`` files."""
    paths = {PurePosixPath(member.name.lstrip("/")): member for member in packed}
    paths = {path: member for path, member in paths.items() if not path.name.startswith("._")}
    if outside := [path for path in paths if ".." in path.parts]:
        raise InputError(f"{archive.name} cannot be unpacked: {outside[0]} is outside of it.")
    names = Counter(path.name for path in paths)
    return {
        f"{path.stem}_{path.parent.name}{path.suffix}" if names[path.name] > 1 else str(path): m
        for path, m in paths.items()
    }
