"""Traces on object storage: a copy here, checked by its digests; put up whole, manifest last.

An address is what fsspec takes: ``s3://bucket/trace``, ``gs://…``, ``az://…``. A trace there is a
folder as it is here, so that ``aws s3 sync`` moves it as well. What is read lies in a cache of this
machine, where what is computed of it stays; of one that has grown only what is new is fetched.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from philly_analysis.atomic import atomic_write, exclusive, scratch_folder
from philly_analysis.errors import InputError, OutputError, PhillyError, TraceError
from philly_analysis.progress import transfer
from philly_analysis.trace.checksums import Digest, digest_of
from philly_analysis.trace.manifest import DERIVED, MANIFEST, Manifest

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)")  # pathlib makes one slash of two
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
_AT_ONCE = 8
_Text = str | Path


def is_address(given: object) -> bool:
    """Tell whether it is an address of object storage, and no path of this machine."""
    return isinstance(given, str | Path) and _ADDRESS.fullmatch(str(given)) is not None


def fetch_trace(trace: _Text) -> Path:
    """Return the folder of a trace on this machine; one on object storage is fetched to the cache.

    Raises
    ------
    TraceError
        There is none at the address, or its files are not as its manifest says.
    InputError
        The storage cannot be reached, or refuses.
    OutputError
        There is no room for it here, or another process fetches it.
    """
    return _Stored.at(trace).fetched() if is_address(trace) else Path(trace)


@contextmanager
def fetch_raw(raw: _Text) -> Iterator[Path]:
    """Give raw files on this machine; those on object storage are copied while the block runs.

    Raises
    ------
    InputError
        There is nothing at the address, or it cannot be read.
    """
    if not is_address(raw):
        yield Path(raw)
        return
    folder = scratch_folder()
    try:
        yield _Stored.at(raw).copied(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def putting(out: _Text, *, force: bool) -> Iterator[Path]:
    """Give a place here to write a new trace to, which is put up when the block ends.

    Raises
    ------
    TraceError
        There is one already, and it is not to be replaced.
    OutputError
        It cannot be put up; it is here then.
    """
    stored = _Stored.at(out)
    if (before := stored.manifest_text()) is not None and not force:
        raise TraceError(f"{stored.address} exists. Give another, or force=True to replace it.")
    yield stored.here
    stored.put(before)


@contextmanager
def upload_appended(out: _Text) -> Iterator[Path]:
    """Give the folder of a trace that is to grow; one on object storage is put up when it has.

    Where there is none yet, it is the address, for who writes new ones to see.

    Raises
    ------
    OutputError
        Somebody else changed it meanwhile, or it cannot be put up.
    """
    before = _Stored.at(out).manifest_text() if is_address(out) else None
    if before is None:
        yield Path(out)
        return
    stored = _Stored.at(out)
    yield stored.fetched()
    if stored.manifest_text() != before:
        raise OutputError(f"somebody else changed {stored.address} meanwhile. Append once more.")
    stored.put(before)


def digest_at(trace: _Text, file: str, like: str) -> Digest | None:
    """Return the size and digest of a file of a trace on object storage; None: it is missing.

    `like`: see :func:`philly_analysis.trace.checksums.digest_of`.
    """
    stored = _Stored.at(trace)
    with stored.asked("read"):
        try:
            with stored.files.open(stored.key(file)) as there:
                told = digest_of(there, like)
                return int(there.seek(0, os.SEEK_END)), told
        except FileNotFoundError:
            return None


def manifest_at(trace: _Text) -> Manifest:
    """Return the manifest of a trace on object storage.

    Raises
    ------
    TraceError
        There is none.
    """
    return _Stored.at(trace).manifest()[0]


@dataclass(frozen=True)
class _Stored:
    """A folder on object storage, and where its copy lies on this machine.

    Attributes
    ----------
    here
        The folder of the copy; it is there once it is whole.
    """

    protocol: str
    path: str

    @classmethod
    def at(cls, address: _Text) -> "_Stored":
        found = _ADDRESS.fullmatch(str(address))
        assert found, address  # noqa: S101 - callers ask is_address first
        return cls(found[1], found[2].rstrip("/"))

    @property
    def address(self) -> str:
        return f"{self.protocol}://{self.path}"

    @property
    def here(self) -> Path:
        given, usual = os.environ.get("PHILLY_CACHE"), os.environ.get("XDG_CACHE_HOME")
        cache = Path(given) if given else Path(usual or Path.home() / ".cache") / "philly-analysis"
        name = hashlib.sha256(self.address.encode()).hexdigest()[:16]
        return cache.resolve() / name / self.path.rpartition("/")[2]

    @cached_property
    def files(self) -> Any:
        """Return the file system that fsspec has for it."""
        try:
            import fsspec

            return fsspec.filesystem(self.protocol)
        except ImportError:
            extra = _EXTRAS.get(self.protocol)
            need = f"'philly-analysis[{extra}]'" if extra else "what fsspec needs for it"
            raise InputError(
                f"{self.address} was asked for, and what reads {self.protocol}:// is not "
                f"installed: `pip install {need}`."
            ) from None
        except ValueError as error:
            raise InputError(f"{self.address} cannot be reached: {error}.") from None

    def key(self, file: str) -> str:
        return f"{self.address}/{file}"

    @contextmanager
    def asked(self, what: str) -> Iterator[None]:
        """Say what was asked of the storage where it fails; each has errors of its own."""
        try:
            yield
        except (PhillyError, FileNotFoundError):
            raise
        except Exception as error:
            said = str(error).split("\n", 1)[0] or type(error).__name__
            raise InputError(
                f"{self.address} cannot be {what}: {said}. Are the address, the credentials in "
                "the environment and the network right?"
            ) from error

    def manifest_text(self) -> str | None:
        """Return the text of its manifest; None: there is none."""
        with self.asked("read"):
            try:
                return bytes(self.files.cat_file(self.key(MANIFEST))).decode()
            except FileNotFoundError:
                return None

    def manifest(self) -> tuple[Manifest, str]:
        """Return its manifest, and the text of it."""
        text = self.manifest_text()
        if text is None:
            raise TraceError(
                f"{self.address} is not a trace: it has no {MANIFEST}. Make one with "
                "ingest(SOURCE, RAW, OUT)."
            )
        try:
            manifest = Manifest.from_json(text)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TraceError(f"{self.key(MANIFEST)} cannot be read: {error}.") from None
        if set(manifest.every_file) - manifest.digests.keys() or not manifest.files:
            raise TraceError(
                f"{self.address} was written when traces kept no digests, by which a copy is "
                "checked. Ingest it again, or copy the folder here."
            )
        return manifest, text

    def fetched(self) -> Path:
        """Bring the copy up to date."""
        manifest, text = self.manifest()
        here = self.here
        if _text(here / MANIFEST) == text:
            return here
        try:
            here.parent.mkdir(parents=True, exist_ok=True)
            with self._alone(), atomic_write(here) as partial:
                self._fill(partial, manifest, Manifest.read(here) if here.exists() else None)
                (partial / MANIFEST).write_text(text, "utf-8")
        except OSError as error:
            raise OutputError(
                f"{here.parent} cannot be written: {error.strerror or error}. Give another folder "
                "as the environment variable PHILLY_CACHE."
            ) from None
        return here

    def _fill(self, partial: Path, manifest: Manifest, before: Manifest | None) -> None:
        """Lay the files of the trace where they belong: those that are here, and the others."""
        coming = self.here.with_name("coming")
        known = before.digests if before else {}
        new = {f: told for f, told in manifest.digests.items() if known.get(f) != told}
        due = {told: (file, size) for file, (size, told) in new.items()}
        due = {told: file for told, file in due.items() if not (coming / told).is_file()}
        need, free = sum(size for _, size in due.values()), shutil.disk_usage(coming.parent).free
        if need > free:
            raise OutputError(
                f"{self.address} needs {need:,} bytes here, and {coming.parent} has room for "
                f"{free:,}. Give a larger folder as the environment variable PHILLY_CACHE."
            )
        coming.mkdir(exist_ok=True)

        def fetch(told: str) -> int:
            file, size = due[told]
            part = coming / f"{told}.part"
            try:
                self.files.get_file(self.key(file), str(part))
            except FileNotFoundError:
                raise TraceError(f"{self.address}/{file} is missing. {_AGAIN}") from None
            with part.open("rb") as read:
                found = digest_of(read, told)
            if found != told:
                part.unlink()
                raise TraceError(f"{self.address}/{file} is not what was put there. {_AGAIN}")
            part.replace(coming / told)  # it stays when another fails: the next try goes on from it
            return size

        with self.asked("read"):
            _each(fetch, due, f"fetching {self.address}", need)
        partial.mkdir()
        for file, (_, told) in manifest.digests.items():
            (partial / file).parent.mkdir(parents=True, exist_ok=True)
            _link(coming / told if file in new else self.here / file, partial / file)
        if before and before.generation < manifest.generation and (self.here / DERIVED).is_dir():
            shutil.copytree(self.here / DERIVED, partial / DERIVED, copy_function=_link)
        shutil.rmtree(coming)

    def put(self, before: str | None) -> None:
        """Put up the trace that is here; `before`: the manifest of the one that stood there.

        While files of that one are replaced there is none, so that nobody reads half of each.
        """
        here = self.here
        manifest = Manifest.read(here)
        try:
            old = Manifest.from_json(before).digests if before else {}
        except (ValueError, TypeError, KeyError, AttributeError):
            old = {}
        due = [file for file, told in manifest.digests.items() if old.get(file) != told]
        sizes = {file: manifest.digests[file][0] for file in due}

        def put(file: str) -> int:
            self.files.put_file(str(here / file), self.key(file))
            return sizes[file]

        try:
            with self.asked("written"):
                if before is not None and any(file in old for file in due):
                    self.files.rm_file(self.key(MANIFEST))
                _each(put, due, f"putting up {self.address}", sum(sizes.values()))
                self.files.pipe_file(self.key(MANIFEST), (here / MANIFEST).read_bytes())
                for file in old.keys() - manifest.digests.keys():
                    with suppress(FileNotFoundError):
                        self.files.rm_file(self.key(file))
        except (InputError, FileNotFoundError) as error:
            raise OutputError(
                f"{error} The trace is whole at {here}: copy it, {MANIFEST} last, or try again."
            ) from error

    def copied(self, folder: Path) -> Path:
        """Copy what lies there into a folder, a file or a folder of files."""
        with self.asked("read"):
            top = str(self.files._strip_protocol(self.address))
            keys = sorted(self.files.find(self.address))
            if not keys:
                raise InputError(f"there is nothing at {self.address}.")
            out = folder / Path(top).name
            named: dict[str, Path] = {key: out / key.removeprefix(top).lstrip("/") for key in keys}
            if any(not path.resolve().is_relative_to(out.resolve()) for path in named.values()):
                raise InputError(f"{self.address} has names that lead out of its folder.")

            def get(key: str) -> int:
                named[key].parent.mkdir(parents=True, exist_ok=True)
                self.files.get_file(key, str(named[key]))
                return named[key].stat().st_size

            _each(get, keys, f"fetching {self.address}", None)
        return out

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else fetch it to this place meanwhile."""
        busy = OutputError(f"another process fetches {self.address}. Wait for it.")
        with exclusive(self.here.with_name("lock"), busy):
            yield


_AGAIN = "It is damaged, or was replaced just now: try again, or look with `philly verify`."


def _each(work: Callable[[str], int], items: Iterable[str], what: str, total: int | None) -> None:
    """Transfer several files at once, and show how many bytes have come."""
    at = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool, transfer(what, total) as show:
        for size in pool.map(work, items):
            at += size
            show(at)


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except OSError:
        return None


def _link(old: str | Path, new: str | Path) -> None:
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)
