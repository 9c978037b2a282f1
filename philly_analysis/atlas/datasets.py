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
        Folder or file of the trace, within the folder of public traces.
    fetch
        Name under which the complete trace can be fetched; empty if it cannot.
    name
        Name of the trace; empty if no source reads it.
    cluster
        Name of the cluster, if it differs from `name`.
    source
        Source that reads the trace.
    map
        Supplied map for the source ``table``.
    why
        Why no source reads the trace; empty otherwise.
    """

    folder: str
    fetch: str = ""
    name: str = ""
    cluster: str = ""
    source: str = "table"
    map: str | None = None
    why: str = ""

    def find(self, root: Path) -> Path:
        """Return the trace's path in the folder of public traces: as fetched, else `folder`."""
        for place in (root / self.fetch / self.folder, root / self.fetch):
            if self.fetch and place.exists():
                return place
        return root / self.folder


@cache
def known_datasets() -> tuple[Dataset, ...]:
    """Return the datasets of ``datasets.toml``, in its order."""
    text = (Path(__file__).parent / "datasets.toml").read_text("utf-8")
    return tuple(Dataset(**entry) for entry in tomllib.loads(text)["dataset"])
