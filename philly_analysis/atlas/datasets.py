"""List the public traces of the atlas, with the source or map that reads each."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public trace in a folder.

    Attributes
    ----------
    folder
        Its folder, or file, among those of all traces.
    fetch
        Name under which it can be fetched complete; empty if it cannot.
    name
        Name of the trace; empty if no source reads it.
    cluster
        Its cluster, if it has another name.
    source
        The source that reads it.
    map
        Supplied map for the source ``table``.
    why
        Why no source reads it; empty otherwise.
    """

    folder: str
    fetch: str = ""
    name: str = ""
    cluster: str = ""
    source: str = "table"
    map: str | None = None
    why: str = ""

    def find(self, root: Path) -> Path:
        """Return its place among those of all traces: as fetched, else its folder or file."""
        for place in (root / self.fetch / self.folder, root / self.fetch):
            if self.fetch and place.exists():
                return place
        return root / self.folder


@cache
def known_datasets() -> tuple[Dataset, ...]:
    """Return the datasets of ``datasets.toml``, in its order."""
    text = (Path(__file__).parent / "datasets.toml").read_text("utf-8")
    return tuple(Dataset(**entry) for entry in tomllib.loads(text)["dataset"])
