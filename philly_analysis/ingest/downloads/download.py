"""Files that belong together, in a folder that appears when all of them are there."""

import shutil
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from philly_analysis.atomic import atomic_write, exclusive
from philly_analysis.errors import InputError, OutputError
from philly_analysis.ingest.downloads.http_file import Download, Patience, download, is_there

UNPACKED_TIMES = 40
"""An archive that would become larger than this many times its size is refused."""
_LOCK = "lock"


def fetch_together(
    files: Sequence[Download],
    folder: Path,
    patience: Patience,
    *,
    texts: Mapping[str, str],
    unpack: bool,
) -> None:
    """Fetch files into a folder of their own, which then appears whole.

    What was transferred lies beside it until then, for the next call to go on with.

    Parameters
    ----------
    texts
        What is laid beside the files, by name.
    unpack
        The files are tar archives, to be taken apart.

    Raises
    ------
    InputError
        One cannot be had, is not the file that was published, or cannot be unpacked.
    OutputError
        Something else is in the folder, or another process fetches there.
    OSError
        It cannot be written there.
    """
    beside = folder.with_name(f".{folder.name}.fetching")
    if not beside.exists() and _is_whole(files, folder, texts, unpack=unpack):
        return
    with _held(beside, folder):
        if not _is_whole(files, folder, texts, unpack=unpack):
            if _files(folder) and not any((folder / file.name).exists() for file in files):
                raise _occupied(folder, _files(folder))
            for file in files:
                if is_there(file, folder) and not (beside / file.name).exists():
                    _lay(folder / file.name, beside)
                elif not is_there(file, beside):
                    download(file, beside, patience)
            with atomic_write(folder) as partial:
                partial.mkdir()
                for file in files:
                    _lay(beside / file.name, partial)
                if unpack:
                    try:
                        for file in files:
                            _unpack(partial / file.name, partial)
                    except InputError:  # so it was published, and will be the next time
                        shutil.rmtree(beside, ignore_errors=True)
                        raise
                for name, text in texts.items():
                    (partial / name).write_text(text, "utf-8")
                if strangers := _files(folder) - _files(partial):
                    raise _occupied(folder, strangers)
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def _held(beside: Path, folder: Path) -> Iterator[None]:
    """Keep others from a folder in which files are gathered; leave none that holds nothing."""
    beside.mkdir(parents=True, exist_ok=True)
    busy = OutputError(f"another process fetches {folder}. Wait for it.")
    with exclusive(beside / _LOCK, busy):
        try:
            yield
        finally:
            if not any(path.stat().st_size for path in beside.glob("*")):
                shutil.rmtree(beside, ignore_errors=True)


def _is_whole(
    files: Sequence[Download], folder: Path, texts: Mapping[str, str], *, unpack: bool
) -> bool:
    """Tell whether all that belongs to a folder is in it.

    Raises
    ------
    InputError
        Another file has the name of one of them, or an archive is damaged.
    """
    return (
        all(is_there(file, folder) for file in files)
        and all((folder / name).is_file() for name in texts)
        and all(
            path.is_file() and path.stat().st_size == size
            for file in files
            if unpack
            for path, size in _members(folder / file.name, folder).items()
        )
    )


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()}


def _occupied(folder: Path, found: set[Path]) -> OutputError:
    return OutputError(
        f"{folder} holds {min(found)}, which is none of what is fetched. Give a folder that is not "
        "there yet."
    )


def _lay(file: Path, folder: Path) -> None:
    """Lay a file into another folder too, in no time where the disk can."""
    try:
        (folder / file.name).hardlink_to(file)
    except OSError:
        shutil.copy2(file, folder)


def _members(archive: Path, folder: Path) -> dict[Path, int]:
    """Return the files of a tar archive that lie in a folder once it is unpacked: their sizes."""
    with _opened(archive) as packed:
        found = [tarfile.data_filter(m, str(folder)) for m in packed if m.isfile()]
    return {folder / member.name: member.size for member in found}


def _unpack(archive: Path, folder: Path) -> None:
    """Take the files out of a tar archive; nothing of it lands outside the folder.

    Raises
    ------
    InputError
        It is damaged, or would grow beyond all measure.
    """
    most = UNPACKED_TIMES * archive.stat().st_size
    with _opened(archive) as packed:
        members = [member for member in packed if member.isfile()]
        if sum(member.size for member in members) > most:
            raise InputError(f"{archive.name} would unpack to more than {most:,} bytes.")
        packed.extractall(folder, members=members, filter="data")


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive) as packed:
            yield packed
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise InputError(f"{archive.name} cannot be unpacked: {error}") from None
