"""Download several files into a folder that appears when all files are complete."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from philly_analysis.atomic import atomic_write, exclusive
from philly_analysis.errors import InputError, OutputError
from philly_analysis.ingest.downloads.http_file import (
    RemoteFile,
    RetryPolicy,
    download,
    is_downloaded,
)
from philly_analysis.ingest.downloads.unpacking import members, unpack_archive

_LOCK = "lock"
_RECORDED = ".sha256"
"""Suffix of the digest of a file whose publisher states none, as `sha256sum -c` reads it."""


def download_all(
    files: Sequence[RemoteFile],
    folder: Path,
    retries: RetryPolicy,
    *,
    texts: Mapping[str, str],
    unpack: bool,
) -> None:
    """Download files into a folder of their own, which is created once all are complete.

    Until then they are in a folder beside it, where the next call resumes.

    Parameters
    ----------
    texts
        Further files of the folder, by name.
    unpack
        The files are tar or zip archives to be unpacked.

    Raises
    ------
    InputError
        A file cannot be fetched, is not the published one, or cannot be unpacked.
    OutputError
        The folder has other files, or another process fetches there.
    OSError
        The folder cannot be written.
    """
    published = files
    files = [_with_recorded_digest(file, folder) for file in published]
    staging = folder.with_name(f".{folder.name}.fetching")
    if not staging.exists() and _is_complete(files, folder, texts, unpack=unpack):
        return
    with _locked(staging, folder):
        if not _is_complete(files, folder, texts, unpack=unpack):
            if _files(folder) and not any((folder / file.name).exists() for file in files):
                raise _occupied(folder, _files(folder))
            for file in files:
                if is_downloaded(file, folder) and not (staging / file.name).exists():
                    _link(folder / file.name, staging)
                elif not is_downloaded(file, staging):
                    download(file, staging, retries)
            with atomic_write(folder) as partial:
                partial.mkdir()
                for file in files:
                    _link(staging / file.name, partial)
                if unpack:
                    try:
                        for file in files:
                            unpack_archive(partial / file.name, partial)
                    except InputError:  # the published archive itself is damaged
                        shutil.rmtree(staging, ignore_errors=True)
                        raise
                for name, text in {**texts, **_recorded_digests(published, partial)}.items():
                    (partial / name).write_text(text, "utf-8")
                if others := _files(folder) - _files(partial):
                    raise _occupied(folder, others)
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def download_lock(lock: Path, target: Path) -> Iterator[None]:
    """Hold a lock while a target is downloaded, and remove it at the end.

    Raises
    ------
    OutputError
        Another process holds it.
    """
    with exclusive(lock, OutputError(f"another process fetches {target}. Wait for it.")):
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


@contextmanager
def _locked(staging: Path, folder: Path) -> Iterator[None]:
    """Lock the staging folder; remove it at the end if it has no data."""
    staging.mkdir(parents=True, exist_ok=True)
    with download_lock(staging / _LOCK, folder):
        try:
            yield
        finally:
            if not any(path.stat().st_size for path in staging.glob("*")):
                shutil.rmtree(staging, ignore_errors=True)


def _is_complete(
    files: Sequence[RemoteFile], folder: Path, texts: Mapping[str, str], *, unpack: bool
) -> bool:
    """Whether a folder has all files, also the files of unpacked archives.

    Raises
    ------
    InputError
        Another file has the name of an expected file, or an archive is damaged.
    """
    return (
        all(is_downloaded(file, folder) for file in files)
        and all((folder / name).is_file() for name in texts)
        and all((folder / f"{file.name}{_RECORDED}").is_file() for file in files if not file.known)
        and all(
            (folder / path).is_file() and (folder / path).stat().st_size == size
            for file in files
            if unpack
            for path, size in members(folder / file.name).items()
        )
    )


def _with_recorded_digest(file: RemoteFile, folder: Path) -> RemoteFile:
    """Return a file with the digest of its first download, if its publisher states none."""
    record = folder / f"{file.name}{_RECORDED}"
    if file.known or not record.is_file():
        return file
    return replace(file, sha256=record.read_text("utf-8").partition(" ")[0])


def _recorded_digests(files: Sequence[RemoteFile], folder: Path) -> dict[str, str]:
    """Return the records of digests of the files in a folder whose publisher states none."""
    records = {}
    for file in files:
        record = folder / f"{file.name}{_RECORDED}"
        if not file.known:
            with (folder / file.name).open("rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            records[record.name] = f"{sha256}  {file.name}\n"
    return records


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()}


def _occupied(folder: Path, files: set[Path]) -> OutputError:
    return OutputError(
        f"{folder} has {min(files)}, which is not one of the files to fetch. Give a folder that "
        "does not exist."
    )


def _link(file: Path, folder: Path) -> None:
    """Link a file into a folder, or copy it where the file system has no links."""
    try:
        (folder / file.name).hardlink_to(file)
    except OSError:
        shutil.copy2(file, folder)
