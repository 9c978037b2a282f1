"""Public traces come from their publishers: whole and as published, or not at all."""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.errors import InputError, OutputError, UnknownNameError
from philly_analysis.ingest.downloads.download import fetch_together
from philly_analysis.ingest.downloads.http_file import Download, Patience, download, is_there

if TYPE_CHECKING:
    import pandas as pd

_MAPS = Path(__file__).parents[1] / "table" / "maps"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public trace: what it is, who reads it, and the files that it consists of.

    Attributes
    ----------
    map
        Of a table, the map that says what its columns mean; it is laid beside the files.
    unpack
        The files are tar archives, whose files are what is read.
    """

    name: str
    what: str
    licence: str
    source: str
    files: tuple[Download, ...]
    map: str = ""
    unpack: bool = False


@cache
def published() -> dict[str, Dataset]:
    """Return the datasets that can be fetched, by name."""
    listed = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text("utf-8"))
    return {
        name: Dataset(name=name, **told | {"files": tuple(Download(**f) for f in told["files"])})
        for name, told in listed.items()
    }


def datasets() -> "pd.DataFrame":
    """List the public traces that can be fetched.

    Returns
    -------
    pandas.DataFrame
        dataset, what, megabytes (null where the publisher does not say), source, licence.
    """
    import pandas as pd

    rows = []
    for d in published().values():
        sizes = [f.bytes for f in d.files]
        whole = round(sum(s or 0 for s in sizes) / 1e6, 1) if all(sizes) else None
        rows.append((d.name, d.what, whole, d.source, d.licence))
    return pd.DataFrame(rows, columns=["dataset", "what", "megabytes", "source", "licence"])


def fetch(
    dataset: str,
    out: str | Path | None = None,
    *,
    url: str | None = None,
    patience: Patience | None = None,
) -> Path:
    """Fetch a public trace from its publisher.

    A transfer that broke off goes on where it stopped, in this call and in the next. A file has
    its name once its size and SHA-256 are those published, and files that belong together appear
    together; what is there already is not fetched again.

    Parameters
    ----------
    dataset
        A name that :func:`datasets` lists.
    out
        Folder to put it in; None: one of its name, here.
    url
        Where to get it instead: a file's address; one that ends with ``/`` is a folder's.
    patience
        How long to wait for whom; see
        :class:`~philly_analysis.ingest.downloads.http_file.Patience`.

    Returns
    -------
    pathlib.Path
        What :func:`philly_analysis.ingest` reads, as source ``auto``.

    Raises
    ------
    UnknownNameError
        There is no such dataset.
    InputError
        It cannot be had: no network, a quota used up, or not the file that was published.
    OutputError
        It cannot be written there.
    """
    if dataset not in published():
        raise UnknownNameError("dataset", dataset, published())
    wanted = published()[dataset]
    if url is not None:
        wanted = _elsewhere(wanted, url)
    place = Path(out if out is not None else dataset)
    folder, patience = place.resolve(), patience or Patience()
    try:
        if len(wanted.files) == 1 and not (wanted.map or wanted.unpack):
            [file] = wanted.files
            folder.mkdir(parents=True, exist_ok=True)
            if not is_there(file, folder):
                download(file, folder, patience)
            return place / file.name
        texts = {}
        if wanted.map:
            texts["map.toml"] = (_MAPS / f"{wanted.map}.toml").read_text("utf-8")
        fetch_together(wanted.files, folder, patience, texts=texts, unpack=wanted.unpack)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {error.strerror or error}") from None
    return place


def _elsewhere(wanted: Dataset, url: str) -> Dataset:
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} is no address of the web: give one that begins with https://.")
    if len(wanted.files) > 1 and not url.endswith("/"):
        raise InputError(
            f"{wanted.name} is {len(wanted.files)} files: give the address of the folder that they "
            "lie in, which ends with /."
        )
    at = (replace(f, url=url + f.name if url.endswith("/") else url) for f in wanted.files)
    return replace(wanted, files=tuple(at))
