"""List the public traces, and fetch them from their publishers."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.errors import InputError, OutputError, UnknownNameError, file_errors
from philly_analysis.ingest.downloads.download import download_all, download_lock
from philly_analysis.ingest.downloads.http_file import (
    RemoteFile,
    RetryPolicy,
    download,
    is_downloaded,
    size_of,
)
from philly_analysis.progress import announce

if TYPE_CHECKING:
    import pandas as pd

_HEAD_TIMEOUT_S = 10.0
_MAPS = Path(__file__).parents[1] / "table" / "maps"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public trace: its description, its source, and its files.

    Attributes
    ----------
    map
        Map of a table, which is written beside the files.
    unpack
        The files are tar or zip archives to be unpacked.
    """

    name: str
    what: str
    licence: str
    source: str
    files: tuple[RemoteFile, ...]
    map: str = ""
    unpack: bool = False


@cache
def published() -> dict[str, Dataset]:
    """Return the datasets that can be fetched, by name."""
    listed = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text("utf-8"))
    return {
        name: Dataset(
            name=name, **entry | {"files": tuple(RemoteFile(**f) for f in entry["files"])}
        )
        for name, entry in listed.items()
    }


def datasets() -> "pd.DataFrame":
    """List the public traces that can be fetched.

    Returns
    -------
    pandas.DataFrame
        dataset, what, megabytes (null where the publisher does not state it), source, licence.
    """
    import pandas as pd

    rows = []
    for d in published().values():
        sizes = [f.bytes for f in d.files]
        total = round(sum(s or 0 for s in sizes) / 1e6, 1) if all(sizes) else None
        rows.append((d.name, d.what, total, d.source, d.licence))
    return pd.DataFrame(rows, columns=["dataset", "what", "megabytes", "source", "licence"])


def fetch(
    dataset: str,
    out: str | Path | None = None,
    *,
    url: str | None = None,
    retries: RetryPolicy | None = None,
) -> Path:
    """Fetch a public trace from its publisher.

    An interrupted transfer resumes where it stopped, in this call or the next. A file gets its name
    once its size and SHA-256 are verified. If the publisher states no digest, the digest of the
    first download is recorded beside the file. Several files appear together. Existing files are
    not fetched again.

    Parameters
    ----------
    dataset
        A name that :func:`datasets` lists.
    out
        Target folder; default one of the dataset's name in the working directory.
    url
        Alternative address of the file, or of its folder if the address ends with ``/``.
    retries
        Time-out and retries; see
        :class:`~philly_analysis.ingest.downloads.http_file.RetryPolicy`.

    Returns
    -------
    pathlib.Path
        What :func:`philly_analysis.ingest` reads, as source ``auto``.

    Raises
    ------
    UnknownNameError
        There is no such dataset.
    InputError
        The trace cannot be fetched: no network, an exceeded quota, or not the published file.
    OutputError
        The folder cannot be written.
    """
    if dataset not in published():
        raise UnknownNameError("dataset", dataset, published())
    selected = published()[dataset]
    if url is not None:
        selected = _at_url(selected, url)
    place = Path(out if out is not None else dataset)
    folder, retries = place.resolve(), retries or RetryPolicy()
    with file_errors(OutputError, f"{place} cannot be written"):
        if len(selected.files) == 1 and not (selected.map or selected.unpack):
            [file] = selected.files
            folder.mkdir(parents=True, exist_ok=True)
            if not is_downloaded(file, folder):
                with download_lock(folder / f".{file.name}.lock", folder / file.name):
                    download(file, folder, retries)
            return place / file.name
        texts = {}
        if selected.map:
            texts["map.toml"] = (_MAPS / f"{selected.map}.toml").read_text("utf-8")
        download_all(selected.files, folder, retries, texts=texts, unpack=selected.unpack)
    return place


def fetch_all(names: Sequence[str], out: Path) -> dict[str, str]:
    """Fetch public traces into folders of their names, after printing their sizes.

    Returns
    -------
    dict
        Why a trace could not be fetched, by name.
    """
    if pending := [published()[name] for name in names if not (out / name).exists()]:
        announce(_sizes(pending, out))
    failures = {}
    for name in names:
        try:
            fetch(name, out / name)
        except (InputError, OutputError) as error:
            failures[name] = str(error)
    return failures


def _sizes(pending: Sequence[Dataset], out: Path) -> str:
    """Return the sizes of datasets to be downloaded, and which have no published digest."""
    parts, total = [], 0
    for dataset in pending:
        sizes = [size_of(file, _HEAD_TIMEOUT_S) for file in dataset.files]
        known_bytes = sum(size or 0 for size in sizes)
        total += known_bytes
        size = f"{known_bytes / 1e6:,.1f} MB" if all(sizes) else "size unknown"
        parts.append(f"{dataset.name} {size}")
    text = f"Downloading to {out}: {', '.join(parts)}; at least {total / 1e6:,.1f} MB in all."
    if unknown := [d.name for d in pending if not all(file.known for file in d.files)]:
        text += (
            f" The publisher of {', '.join(unknown)} states no digest: the digest of the first "
            "download is recorded."
        )
    return text


def _at_url(dataset: Dataset, url: str) -> Dataset:
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} is no web address: give one that begins with https://.")
    if len(dataset.files) > 1 and not url.endswith("/"):
        raise InputError(
            f"{dataset.name} has {len(dataset.files)} files: give the address of their folder, "
            "which ends with /."
        )
    files = (replace(f, url=url + f.name if url.endswith("/") else url) for f in dataset.files)
    return replace(dataset, files=tuple(files))
