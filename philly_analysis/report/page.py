"""Report page: show it in a notebook, open it in a browser, or save a copy."""

import shutil
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import TraceError, file_errors

PAGE = "report.html"

_HEIGHT = 800
"""Pixels of the frame in a notebook."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its figures and tables, in a folder.

    Jupyter shows the page in a frame. A page is a path, so that ``open(page)`` reads the HTML.

    Attributes
    ----------
    path
        The HTML file.
    """

    path: Path

    @property
    def html(self) -> str:
        """The text of the page."""
        return self.path.read_text("utf-8")

    def save(self, folder: str | Path) -> Path:
        """Copy the page, its figures and tables to a folder, and return the page there.

        Raises
        ------
        TraceError
            The folder exists and is not a report, or cannot be written.
        """
        folder = Path(folder)
        with replacing(folder, self.path.name) as partial:
            shutil.copytree(self.path.parent, partial, dirs_exist_ok=True)
        return folder / self.path.name

    def open(self) -> None:
        """Open the page in a browser."""
        webbrowser.open(self.path.absolute().as_uri())

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def _repr_html_(self) -> str:
        frame = f"<iframe srcdoc='{escape(self.html, quote=True)}' width='100%' height='{_HEIGHT}'"
        return f"{frame} style='border:0'></iframe>"


@contextmanager
def replacing(out: Path, page: str = PAGE) -> Iterator[Path]:
    """Yield a new folder that atomically replaces the report at `out` when the block ends.

    Raises
    ------
    TraceError
        The folder at `out` is not a report, or cannot be written.
    """
    if out.exists() and not (out / page).is_file():
        raise TraceError(f"{out} exists and is not a report, so it is not replaced.")
    with file_errors(TraceError, f"{out} cannot be written"), atomic_write(out) as partial:
        partial.mkdir()
        yield partial
