"""Copy traces from and to object storage with fsspec, verified by checksums, manifest last.

fsspec accepts the addresses: ``s3://bucket/trace``, ``gs://…``, ``az://…``. A
remote trace has the same files as a folder. Reading copies the trace to a cache on this machine;
the cache also keeps the tables that are computed from the trace. An interrupted copy is continued.
If a trace has grown, only new files are copied.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC, EROFS
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from philly_analysis.atomic import atomic_write, exclusive, scratch_folder
from philly_analysis.errors import InputError, OutputError, PhillyError, TraceError, file_errors
from philly_analysis.progress import step
from philly_analysis.trace.checksums import Digest, digest_of, digests
from philly_analysis.trace.manifest import MANIFEST, Manifest, not_a_trace

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)")  # pathlib makes one slash of two
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
_LOCAL_ERRORS = (ENOSPC, EDQUOT, EFBIG, EROFS)
_HINT = "The trace is damaged or was replaced just now: try again, or run `philly verify`."


def is_address(path: object) -> bool:
    """Return whether a path is an address on object storage."""
    return isinstance(path, str | Path) and _ADDRESS.fullmatch(str(path)) is not None


def fetch_trace(trace: str | Path) -> Path:
    """Return the local folder of a trace; copy a trace on object storage to the cache first.

    Raises
    ------
    TraceError
        There is no trace at the address, or its files do not match its manifest.
    InputError
        The storage cannot be reached, or denies access.
    OutputError
        The cache cannot be written, or another process is writing it.
    """
    return RemoteFolder(trace).fetch() if is_address(trace) else Path(trace)


@contextmanager
def fetch_raw(raw: str | Path) -> Iterator[Path]:
    """Return raw files on this machine; remote files are copied while the block runs.

    Raises
    ------
    InputError
        There is nothing at the address, or the address cannot be read.
    """
    if not is_address(raw):
        yield Path(raw)
        return
    with TemporaryDirectory(dir=scratch_folder(), ignore_cleanup_errors=True) as folder:
        RemoteFolder(raw).download(Path(folder))
        [copy] = Path(folder).iterdir()
        yield copy


@contextmanager
def upload_new(out: str | Path, *, force: bool) -> Iterator[Path]:
    """Return a folder to write a new trace to, which is uploaded when the block ends.

    Raises
    ------
    TraceError
        There is a trace at the address that is not to be replaced.
    OutputError
        The trace cannot be uploaded; the folder keeps the trace.
    """
    remote = RemoteFolder(out)
    before = remote.manifest_text()
    if before and not force:
        raise TraceError(f"{remote.address} exists. Give another, or force=True to replace it.")
    yield remote.cache
    remote.upload(before)


@contextmanager
def upload_appended(out: str | Path) -> Iterator[Path]:
    """Return the folder of a trace to append to; a remote trace is uploaded afterwards.

    If there is no trace at the address yet, return the address.

    Raises
    ------
    OutputError
        Another process changed the remote trace meanwhile, or the upload failed.
    """
    remote = RemoteFolder(out) if is_address(out) else None
    if not remote or not (before := remote.manifest_text()):
        yield Path(out)
        return
    yield remote.fetch()
    if remote.manifest_text() != before:
        raise OutputError(f"another process has changed {remote.address}. Append once more.")
    remote.upload(before)


class RemoteFolder:
    """A folder on object storage, and its copy in the cache.

    Attributes
    ----------
    files
        The fsspec file system of the address's protocol.
    """

    def __init__(self, address: str | Path) -> None:
        """Connect to the storage; InputError: its package is not installed or not known."""
        protocol, _, path = str(address).partition(":")
        path = path.strip("/")
        self.address = f"{protocol}://{path}"
        try:
            import fsspec

            self.files: Any = fsspec.filesystem(protocol)
        except (ImportError, ValueError) as error:
            hint = f"`pip install 'philly-analysis[{_EXTRAS.get(protocol, 's3')}]'`"
            raise InputError(f"{self.address} cannot be reached: {error}. Run {hint}.") from None
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = Path(os.environ.get("PHILLY_CACHE") or Path(base, "philly-analysis")).resolve()
        name = hashlib.sha256(self.address.encode()).hexdigest()[:16]
        self.cache = root / name / path.rpartition("/")[2]

    def manifest_text(self) -> str:
        """Return the text of the trace's manifest; empty: there is none."""
        with self._errors("read"), suppress(FileNotFoundError):
            return bytes(self.files.cat_file(f"{self.address}/{MANIFEST}")).decode()
        return ""

    def manifest(self, text: str) -> Manifest:
        """Return the trace's manifest from its text; TraceError: the text is not valid."""
        if not text:
            raise not_a_trace(self.address)
        try:
            manifest = Manifest.from_json(text)
        except ValueError as error:
            raise TraceError(f"{self.address}/{MANIFEST} cannot be read: {error}.") from None
        if not manifest.files or set(manifest.every_file) - manifest.digests.keys():
            raise TraceError(
                f"{self.address} has no checksums, which a copy needs. Ingest it again, or copy "
                "the folder to this machine."
            )
        return manifest

    def digest(self, file: str, like: str) -> Digest:
        """Return the size and digest of a file; FileNotFoundError: the file is missing.

        `like`: see :func:`philly_analysis.trace.checksums.digest_of`.
        """
        with self._errors("read"), self.files.open(f"{self.address}/{file}") as remote:
            content_digest = digest_of(remote, like)
            return int(remote.seek(0, os.SEEK_END)), content_digest

    def download(self, folder: Path) -> None:
        """Copy a file or folder of raw files into a folder."""
        with self._errors("read"), step(f"copying {self.address}"):
            names = self.files.find(self.address)
            if not names:
                raise InputError(f"there is nothing at {self.address}.")
            if any(".." in PurePosixPath(name).parts for name in names):
                raise InputError(f"{self.address} has file names that lead out of its folder.")
            self.files.get(self.address, f"{folder}/", recursive=True)

    def fetch(self) -> Path:
        """Bring the trace's copy in the cache up to date, and return its folder."""
        text, cache = self.manifest_text(), self.cache
        manifest = self.manifest(text)
        with suppress(OSError):
            if (cache / MANIFEST).read_text("utf-8") == text:
                return cache
        busy = OutputError(f"another process is copying {self.address}. Wait until it is done.")
        advice = ". Set the environment variable PHILLY_CACHE to a folder with free space."
        with file_errors(OutputError, f"{cache.parent} cannot be written", advice):
            cache.mkdir(parents=True, exist_ok=True)
            with exclusive(cache.with_name(f".{cache.name}.lock"), busy):
                self._copy(manifest.digests)
                with atomic_write(cache / MANIFEST) as partial:
                    partial.write_text(text, "utf-8")
        return cache

    def _copy(self, expected: Mapping[str, Digest]) -> None:
        """Copy the files that the cache lacks; if another trace is there, remove it first."""
        cache, copied = self.cache, dict[str, Digest]()
        if (cache / MANIFEST).exists():
            copied = Manifest.read(cache).digests
        if any(copied.get(file, digest) != digest for file, digest in expected.items()):
            (cache / MANIFEST).unlink()  # first, so that no reader takes the rest for a trace
            shutil.rmtree(cache)
            copied = {}
        due = {file: digest for file, digest in expected.items() if file not in copied}
        missing = sorted(due.keys() - _valid_files(cache, due))
        with self._errors("read"), step(f"copying {self.address}"):
            try:
                remote = [f"{self.address}/{file}" for file in missing]
                self.files.get(remote, [str(cache / file) for file in missing])
            except FileNotFoundError as error:
                raise TraceError(f"{self.address}: {error} is missing. {_HINT}") from None
        if wrong := sorted(set(missing) - _valid_files(cache, due)):
            raise TraceError(f"{self.address}/{wrong[0]} does not match its checksum. {_HINT}")

    def upload(self, before: str) -> None:
        """Upload the cache's trace; `before`: the manifest of the replaced trace.

        There is no manifest while files are replaced, so that no reader gets half of each trace.
        """
        manifest, old = Manifest.read(self.cache), dict[str, Digest]()
        with suppress(ValueError):
            old = Manifest.from_json(before).digests
        due = [file for file, digest in manifest.digests.items() if old.get(file) != digest]
        remote = [f"{self.address}/{file}" for file in (*due, MANIFEST)]
        local = [str(self.cache / file) for file in (*due, MANIFEST)]
        try:
            with self._errors("written"), step(f"uploading {self.address}"):
                if before and old.keys() & set(due):
                    self.files.rm_file(remote[-1])
                self.files.put(local[:-1], remote[:-1])
                self.files.put(local[-1:], remote[-1:])
                for file in old.keys() - manifest.digests.keys():
                    with suppress(FileNotFoundError):
                        self.files.rm_file(f"{self.address}/{file}")
        except (InputError, FileNotFoundError) as error:
            raise OutputError(
                f"{error} The complete trace is at {self.cache}: copy it, {MANIFEST} last, or try "
                "again."
            ) from error

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        """Raise the errors of each storage's implementation as InputError."""
        try:
            yield
        except (PhillyError, FileNotFoundError):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _LOCAL_ERRORS:
                raise
            reason = str(error).split("\n", 1)[0] or type(error).__name__
            raise InputError(
                f"{self.address} cannot be {action}: {reason}. Check the address, the credentials "
                "in the environment, and the network."
            ) from error


def _valid_files(folder: Path, expected: Mapping[str, Digest]) -> set[str]:
    """Return the files in a folder that match their checksums."""
    actual = digests(folder, [f for f in expected if (folder / f).is_file()], expected)
    return {file for file, digest in actual.items() if digest == expected[file]}
