"""Download a file over HTTP: resume interrupted transfers, and verify the digest."""

import hashlib
import http.client
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRandom, BufferedReader
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from philly_analysis.errors import InputError
from philly_analysis.progress import transfer

_BLOCK = 1 << 20
_POINTER = b"version https://git-lfs"
_MOST = 100 << 30
"""Limit on the bytes of a file of unknown size."""
_ADVICE = "Try again later, or give another address with url=."


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A published file.

    Attributes
    ----------
    bytes
        Size of the file; None if unknown.
    sha256
        Digest of the file, as hexadecimal digits.
    blob
        Git's name of the content, where no digest is published. If both are empty, the first
        download is verified by its size alone.
    """

    name: str
    url: str
    sha256: str = ""
    bytes: int | None = None
    blob: str = ""

    @property
    def known(self) -> bool:
        """Whether its content is known."""
        return bool(self.sha256 or self.blob)

    @property
    def identity(self) -> str:
        """Digest that identifies it, for messages."""
        if not self.known:
            return "no digest"
        return f"SHA-256 {self.sha256}" if self.sha256 else f"the name {self.blob} in Git"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Time-out and retries of a transfer.

    Attributes
    ----------
    timeout_s
        Seconds without a byte after which a connection counts as broken.
    tries
        Successive broken connections without data after which the transfer fails.
    pause_s
        Seconds before the second try, doubled before each further one.
    """

    timeout_s: float = 30.0
    tries: int = 5
    pause_s: float = 1.0


def size_of(file: RemoteFile, timeout_s: float) -> int | None:
    """Return the size of a file: as published, or as its server states it; None if neither."""
    if file.bytes is not None:
        return file.bytes
    try:
        with urlopen(_request(file, method="HEAD"), timeout=timeout_s) as response:  # noqa: S310
            length = response.headers.get("Content-Length", "")
    except (OSError, http.client.HTTPException):
        return None
    return int(length) if length.isdecimal() else None


def _request(file: RemoteFile, method: str = "GET") -> Request:
    return Request(file.url, headers={"User-Agent": "philly-analysis"}, method=method)  # noqa: S310 - the addresses are ours, or begin with http


class _BrokenConnectionError(Exception):
    """The connection broke; another try may succeed."""


def is_downloaded(file: RemoteFile, folder: Path) -> bool:
    """Whether a folder has the published file.

    Raises
    ------
    InputError
        Another file has its name.
    """
    path = folder / file.name
    if not path.is_file():
        return False
    with path.open("rb") as content:
        if _is_published(file, content):
            return True
    raise InputError(
        f"{path} exists, and is not the file that was published (it has not {file.identity}). Move "
        "it, or fetch into another folder."
    )


def download(file: RemoteFile, folder: Path, retries: RetryPolicy) -> None:
    """Download a file into a folder, resuming an interrupted transfer.

    Raises
    ------
    InputError
        The file cannot be fetched, or differs from the published file and was removed.
    OSError
        The disk is full, or the folder is not writable.
    """
    path = folder / f"{file.name}.part"
    with path.open("a+b") as part, transfer(f"fetching {file.name}", file.bytes) as show:
        failures = 0
        while True:
            before = _size(part)
            try:
                _receive(file, part, retries, show)
                break
            except _BrokenConnectionError as error:
                failures = 1 if _size(part) > before else failures + 1
                if failures >= retries.tries:
                    raise InputError(
                        f"{file.url} was given up after {failures} tries that brought nothing: "
                        f"{error}. {_stored(_size(part))}{_ADVICE}"
                    ) from None
                time.sleep(retries.pause_s * 2 ** (failures - 1))
        part.flush()
        os.fsync(part.fileno())
        _verify(file, part)
        path.replace(folder / file.name)


def _size(part: BufferedRandom | BufferedReader) -> int:
    return part.seek(0, os.SEEK_END)


def _is_pointer(part: BufferedRandom | BufferedReader) -> bool:
    """Whether a file is a Git LFS pointer."""
    part.seek(0)
    return part.read(len(_POINTER)) == _POINTER


def _verify(file: RemoteFile, part: BufferedRandom) -> None:
    """Remove what was received if it is not the published file.

    Raises
    ------
    InputError
        The file differs from the published file.
    """
    if _is_published(file, part):
        return
    size = _size(part)
    part.seek(0)
    sha = hashlib.file_digest(part, "sha256").hexdigest()
    Path(part.name).unlink()
    if _is_pointer(part):
        raise InputError(
            f"{file.url} gave a Git LFS pointer in place of the file: the publisher's quota "
            f"may be used up. {_ADVICE}"
        )
    expected = f"{file.bytes:,} bytes with " if file.bytes else ""
    raise InputError(
        f"{file.url} gave {size:,} bytes with SHA-256 {sha}; published were {expected}"
        f"{file.identity}. Nothing of it was kept."
    )


def _is_published(file: RemoteFile, content: BufferedRandom | BufferedReader) -> bool:
    """Whether content has the digest of a published file, or its name in Git, if one is known."""
    if not file.known:
        return file.bytes in (None, _size(content)) and not _is_pointer(content)
    blob = hashlib.sha1(b"blob %d\0" % _size(content), usedforsecurity=False)
    content.seek(0)
    digest = hashlib.file_digest(content, "sha256" if file.sha256 else lambda: blob)
    return digest.hexdigest() == (file.sha256 or file.blob)


def _receive(
    file: RemoteFile, part: BufferedRandom, retries: RetryPolicy, show: Callable[[int], None]
) -> None:
    """Receive the missing bytes of a file over one connection.

    Raises
    ------
    _BrokenConnectionError
        The connection broke before the end.
    InputError
        The publisher refuses, or sends more than was published.
    """
    size = _size(part)
    show(size)
    if file.bytes is not None and size >= file.bytes:
        return
    request = _request(file)
    if size:
        request.add_header("Range", f"bytes={size}-")
    try:
        with urlopen(request, timeout=retries.timeout_s) as response:  # noqa: S310
            content_range = response.headers.get("Content-Range", "")
            if size and not content_range.startswith(f"bytes {size}-"):
                size = part.truncate(0)  # the server ignores ranges
            length = response.headers.get("Content-Length", "")
            expected = size + int(length) if length.isdecimal() else None
            while block := response.read1(_BLOCK):
                size += len(block)
                if size > (file.bytes or _MOST):
                    Path(part.name).unlink()
                    raise InputError(
                        f"{file.url} sends more than the {file.bytes or _MOST:,} bytes that were "
                        "published. Nothing of it was kept."
                    )
                part.write(block)
                show(size)
    except HTTPError as error:
        if error.code == 416 and size:
            return
        raise _refusal(file, error, size) from None
    except (URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        unreachable = isinstance(error, URLError) and isinstance(reason, OSError)
        if unreachable and not size and not isinstance(reason, TimeoutError):
            raise InputError(
                f"{file.url} cannot be reached ({reason}): is there a network? Without one, copy "
                "the file by other means and give it to `ingest`."
            ) from None
        raise _BrokenConnectionError(str(reason) or type(error).__name__) from None
    if size < (file.bytes or expected or 0) and not _is_pointer(part):
        raise _BrokenConnectionError(f"the connection ended after {size:,} bytes")


def _stored(size: int) -> str:
    return f"{size:,} bytes of it are kept and will not be fetched again. " if size else ""


def _refusal(file: RemoteFile, error: HTTPError, size: int) -> Exception:
    """Return the error for an HTTP status: a broken connection where another try may succeed."""
    if error.code >= 500:
        return _BrokenConnectionError(f"the server answers {error.code} {error.reason}")
    later = error.headers.get("Retry-After", "")
    what = {
        403: "refuses it (403): the publisher's quota of downloads may be used up",
        404: "has no such file (404)",
        429: "has had too many requests (429)"
        + (f" and asks to come back in {later} s" if later.isdecimal() else ""),
    }.get(error.code, f"answers {error.code} {error.reason}")
    return InputError(f"{file.url} {what}. {_stored(size)}{_ADVICE}")
