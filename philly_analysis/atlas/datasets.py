"""The public traces that the atlas knows, and the source or map that reads each."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public trace, by the folder that it lies in.

    Attributes
    ----------
    folder
        Its folder, or file, among those of all traces.
    name
        What to call it; empty where it is not read.
    source
        The source that reads it.
    map
        For the source ``table``: the map that ships.
    why
        Why no source reads it; empty for those that are read.
    """

    folder: str
    name: str = ""
    source: str = "table"
    map: str | None = None
    why: str = ""


@cache
def known_datasets() -> tuple[Dataset, ...]:
    """Return the datasets of ``datasets.toml``, in its order."""
    text = (Path(__file__).parent / "datasets.toml").read_text("utf-8")
    return tuple(Dataset(**entry) for entry in tomllib.loads(text)["dataset"])
