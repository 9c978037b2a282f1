"""Compute digests of files: BLAKE3, or SHA-256 where an older manifest has SHA-256."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import duckdb
from blake3 import blake3

Digest = tuple[int, str]
"""Bytes of a file, and its digest as :func:`digest_of` returns it."""
_BLAKE3 = "blake3-"
_DIGEST = re.compile(rf"({_BLAKE3})?[0-9a-f]{{64}}")
_THREADS = 2
_BLOCK_BYTES = 1 << 18


def digest_of(file: IO[bytes], like: str = "") -> str:
    """Return the digest of a file's content.

    Parameters
    ----------
    like
        The digest to compare with: if it is a SHA-256, so is the result.

    Returns
    -------
    str
        ``blake3-`` and the 64 hexadecimal digits that ``b3sum`` prints; SHA-256 digits alone.
    """
    sha256 = like and not like.startswith(_BLAKE3)
    hasher = hashlib.sha256() if sha256 else blake3()
    while block := file.read(_BLOCK_BYTES):
        hasher.update(block)
    return hasher.hexdigest() if sha256 else _BLAKE3 + hasher.hexdigest()


def digest(path: Path, like: str = "") -> Digest:
    """Return the size and digest of a file; `like`: see :func:`digest_of`."""
    with path.open("rb") as file:
        content_digest = digest_of(file, like)
        return file.tell(), content_digest


def digests(
    folder: Path, files: Iterable[str], recorded: Mapping[str, Digest] | None = None
) -> dict[str, Digest]:
    """Return the size and digest of files, by their paths in a folder.

    Parameters
    ----------
    recorded
        Digests to compare with.
    """
    like = {file: expected for file, (_, expected) in (recorded or {}).items()}
    files = list(files)
    with ThreadPoolExecutor(_THREADS) as pool:
        computed = pool.map(lambda file: digest(folder / file, like.get(file, "")), files)
        return dict(zip(files, computed, strict=True))


def is_digest(text: str) -> bool:
    """Return whether a text has the form of a digest."""
    return _DIGEST.fullmatch(text) is not None


def matches_any(path: Path, expected_digests: Collection[str]) -> bool:
    """Return whether a file has one of the expected digests."""
    algorithms = {expected.startswith(_BLAKE3): expected for expected in expected_digests}
    return any(digest(path, like)[1] in expected_digests for like in algorithms.values())


def text_digest(*texts: str) -> str:
    """Return a short digest of texts, to name what is computed from them."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def rows_digest(rows: duckdb.DuckDBPyRelation) -> str:
    """Return a digest of rows that does not depend on their order."""
    columns = ", ".join(f'"{column}"' for column in rows.columns)
    digests = rows.aggregate(f"count(*), sum(hash(row({columns}))::hugeint)").fetchall()
    return repr(digests)
