"""Digests of files: BLAKE3, which takes a quarter of a SHA-256's time; what is older has those."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from blake3 import blake3

Digest = tuple[int, str]
"""Bytes of a file, and what :func:`digest_of` says of it."""
_BLAKE3 = "blake3-"
_DIGEST = re.compile(rf"({_BLAKE3})?[0-9a-f]{{64}}")
_AT_ONCE = 2
_BLOCK_BYTES = 1 << 18


def digest_of(file: IO[bytes], like: str = "") -> str:
    """Return the digest of what a file holds.

    Parameters
    ----------
    like
        The digest that it is to be compared with: if that is a SHA-256, so is this one.

    Returns
    -------
    str
        ``blake3-`` and the 64 hexadecimal digits that ``b3sum`` prints; of a SHA-256, its alone.
    """
    older = like and not like.startswith(_BLAKE3)
    told = hashlib.sha256() if older else blake3()
    while block := file.read(_BLOCK_BYTES):
        told.update(block)
    return told.hexdigest() if older else _BLAKE3 + told.hexdigest()


def digest(path: Path, like: str = "") -> Digest:
    """Return the size and digest of a file; `like`: see :func:`digest_of`."""
    with path.open("rb") as file:
        told = digest_of(file, like)
        return file.tell(), told


def digests(
    folder: Path, files: Iterable[str], known: Mapping[str, Digest] | None = None
) -> dict[str, Digest]:
    """Return the size and digest of files, by their paths in a folder.

    `known` has those that they are to be compared with.
    """
    like = {file: told for file, (_, told) in (known or {}).items()}
    files = list(files)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda file: digest(folder / file, like.get(file, "")), files)
        return dict(zip(files, found, strict=True))


def is_digest(text: str) -> bool:
    """Tell whether a text is what :func:`digest_of` may return, and so is fit to name a file."""
    return _DIGEST.fullmatch(text) is not None


def matches_any(path: Path, known: Collection[str]) -> bool:
    """Tell whether the digest of a file is among some."""
    ways = {told.startswith(_BLAKE3): told for told in known}
    return any(digest(path, like)[1] in known for like in ways.values())
