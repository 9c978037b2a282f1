"""One file over HTTP: resumed where it broke off, and whole by its digest or not there at all."""

import hashlib
import http.client
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from philly_analysis.atomic import exclusive
from philly_analysis.errors import InputError, OutputError
from philly_analysis.progress import transfer
from philly_analysis.trace import digest_of

_BLOCK = 1 << 20
_POINTER = b"version https://git-lfs"
_MOST = 100 << 30
"""Bytes of a file whose size is not known, at most."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file as it was published.

    Attributes
    ----------
    bytes
        Its size; None: the publisher does not say.
    sha256
        Its digest, as hexadecimal digits.
    blob
        What Git calls it, by its content, where nobody published its digest: that is as good.
    """

    name: str
    url: str
    sha256: str = ""
    bytes: int | None = None
    blob: str = ""

    @property
    def told(self) -> str:
        """By what it is known."""
        return f"SHA-256 {self.sha256}" if self.sha256 else f"the name {self.blob} in Git"


@dataclass(frozen=True, slots=True)
class Patience:
    """For how long a transfer is waited for.

    Attributes
    ----------
    stalled_s
        Seconds without a byte after which a connection counts as broken.
    tries
        Broken connections in a row that brought nothing, after which it is given up.
    pause_s
        Seconds before the second try; twice as long before each one after it.
    """

    stalled_s: float = 30.0
    tries: int = 5
    pause_s: float = 1.0


class _BrokenError(Exception):
    """The connection broke: worth another try."""


def is_there(file: Download, folder: Path) -> bool:
    """Tell whether a file is there as published.

    Raises
    ------
    InputError
        Another file has its name.
    """
    path = folder / file.name
    if not path.is_file():
        return False
    with path.open("rb") as there:
        wanted = file.sha256 or file.blob
        same = wanted == (digest_of(there, wanted) if file.sha256 else _blob(there))
    if same:
        return True
    raise InputError(
        f"{path} is there, and is not the file that was published (it has not {file.told}). Move "
        "it away, or fetch into another folder."
    )


def download(file: Download, folder: Path, patience: Patience) -> Path:
    """Fetch a file into a folder, going on with what an earlier try left there.

    Raises
    ------
    InputError
        It cannot be had, or is not the file that was published: then nothing of it stays.
    OutputError
        Another process fetches it there.
    OSError
        The disk is full, or the folder not to be written.
    """
    part = folder / f"{file.name}.part"
    with _locked(part) as held, transfer(f"fetching {file.name}", file.bytes) as show:
        vain = 0
        while True:
            before = held.at
            try:
                _receive(file, held, patience, show)
                break
            except _BrokenError as broken:
                vain = 1 if held.at > before else vain + 1
                if vain >= patience.tries:
                    raise InputError(
                        f"{file.url} was given up after {vain} tries that brought nothing: "
                        f"{broken}. {_kept(held.at)}Try again later, or give another address with "
                        "url=."
                    ) from None
                time.sleep(patience.pause_s * 2 ** (vain - 1))
        held.judge(file)
        part.replace(folder / file.name)
    return folder / file.name


class _Part:
    """What there is of a file so far, with its digest."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.file, self.path = file, path
        self.at, self.sha = 0, hashlib.sha256()
        file.seek(0)
        while block := file.read(_BLOCK):
            self._count(block)

    def _count(self, block: bytes) -> None:
        self.sha.update(block)
        self.at += len(block)

    def add(self, block: bytes) -> None:
        self.file.write(block)
        self._count(block)

    def restart(self) -> None:
        self.file.truncate(0)
        self.at, self.sha = 0, hashlib.sha256()

    def discard(self) -> None:
        self.restart()
        self.path.unlink(missing_ok=True)

    def is_pointer(self) -> bool:
        """Tell whether it is what Git LFS puts in the place of a file."""
        self.file.seek(0)
        return self.file.read(len(_POINTER)) == _POINTER

    def judge(self, file: Download) -> None:
        """Refuse what is not the file that was published.

        Raises
        ------
        InputError
            It is not; nothing of it stays.
        """
        self.file.flush()
        os.fsync(self.file.fileno())
        if file.sha256 in ("", self.sha.hexdigest()) and file.blob in ("", _blob(self.file)):
            return
        pointer = self.is_pointer()
        size, found = self.at, self.sha.hexdigest()
        self.discard()
        if pointer:
            raise InputError(
                f"{file.url} gave a Git LFS pointer, which stands for the file and does not hold "
                "it: the publisher's quota may be used up. Try again later, or give another "
                "address with url=."
            )
        wanted = f"{file.bytes:,} bytes with " if file.bytes else ""
        raise InputError(
            f"{file.url} gave {size:,} bytes with SHA-256 {found}; published were {wanted}"
            f"{file.told}. Nothing of it was kept."
        )


def _blob(file: IO[bytes]) -> str:
    """Return what Git calls the content of a file."""
    told = hashlib.sha1(b"blob %d\0" % file.seek(0, os.SEEK_END), usedforsecurity=False)
    file.seek(0)
    while block := file.read(_BLOCK):
        told.update(block)
    return told.hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[_Part]:
    """Give the part of a file, which no other process writes meanwhile."""
    lock = path.with_name(f".{path.stem}.lock")
    with exclusive(lock, OutputError(f"another process fetches {path}. Wait for it.")):
        try:
            with path.open("a+b") as file:
                yield _Part(path, file)
        finally:
            lock.unlink(missing_ok=True)


def _receive(file: Download, part: _Part, patience: Patience, show: Callable[[int], None]) -> None:
    """Take what is missing of a file from one connection.

    Raises
    ------
    _BrokenError
        It broke before the file was whole.
    InputError
        The publisher refuses, or sends more than was published.
    """
    show(part.at)
    if file.bytes is not None and part.at >= file.bytes:
        return
    request = Request(file.url, headers={"User-Agent": "philly-analysis"})  # noqa: S310 - the addresses are ours, or begin with http
    if part.at:
        request.add_header("Range", f"bytes={part.at}-")
    try:
        with urlopen(request, timeout=patience.stalled_s) as answer:  # noqa: S310
            told = answer.headers.get("Content-Range", "")
            if part.at and not told.startswith(f"bytes {part.at}-"):
                part.restart()  # it sends all again
            rest = _length(answer)
            due = None if rest is None else part.at + rest
            while block := answer.read1(_BLOCK):
                if part.at + len(block) > (file.bytes or _MOST):
                    part.discard()
                    raise InputError(
                        f"{file.url} sends more than the {file.bytes or _MOST:,} bytes that were "
                        "published. Nothing of it was kept."
                    )
                part.add(block)
                show(part.at)
    except HTTPError as refused:
        if refused.code == 416 and part.at:
            return
        _say_refused(file, refused, part.at)
    except (URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        if isinstance(error, URLError) and not part.at and _no_network(error):
            raise InputError(
                f"{file.url} cannot be reached ({error.reason}): is there a network? Where there "
                "is none, bring the file by other means and give it to `ingest`."
            ) from None
        raise _BrokenError(str(getattr(error, "reason", error)) or type(error).__name__) from None
    short = part.at < (file.bytes or due or 0)
    if short and not part.is_pointer():
        raise _BrokenError(f"the connection ended after {part.at:,} bytes")


def _length(answer: http.client.HTTPResponse) -> int | None:
    told = answer.headers.get("Content-Length", "")
    return int(told) if told.isdecimal() else None


def _no_network(error: URLError) -> bool:
    return isinstance(error.reason, OSError) and not isinstance(error.reason, TimeoutError)


def _kept(at: int) -> str:
    return f"{at:,} bytes of it are kept and will not be fetched again. " if at else ""


def _say_refused(file: Download, refused: HTTPError, at: int) -> None:
    """Say what an answer other than the file means; raise :class:`_BrokenError` if it may pass."""
    if refused.code >= 500:
        raise _BrokenError(f"the server answers {refused.code} {refused.reason}") from None
    later = refused.headers.get("Retry-After", "")
    what = {
        403: "refuses it (403): the publisher's quota of downloads may be used up",
        404: "has no such file (404)",
        429: "has had too many requests (429)"
        + (f" and asks to come back in {later} s" if later.isdecimal() else ""),
    }.get(refused.code, f"answers {refused.code} {refused.reason}")
    raise InputError(
        f"{file.url} {what}. {_kept(at)}Try again later, or give another address with url=."
    ) from None
