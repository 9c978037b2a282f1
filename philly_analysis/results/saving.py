"""Save a result's table or figure to a file, in the format of the file's suffix."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import OutputError, file_errors
from philly_analysis.results.escaping import write_csv

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIGURES = ("png", "svg", "pdf", "eps", "jpg", "webp")
"""Suffixes of figures."""

_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zip": "zip", ".xz": "xz", ".zst": "zstd"}
"""Compression of a CSV by the suffix of its name."""

_PNG_DPI = 200


def save_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table atomically, as Parquet, or as CSV compressed by the suffix of its name.

    Raises
    ------
    OutputError
        The file cannot be written.
    """

    def write(partial: Path) -> None:
        if path.suffix == ".parquet":
            table.to_parquet(partial, index=False)
        else:
            write_csv(table, partial, compression=_PACKED.get(path.suffix))

    _write(path, write)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure atomically. PDF and PostScript embed TrueType fonts, as venues require.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    import matplotlib as mpl

    kind = path.suffix.removeprefix(".")

    def write(partial: Path) -> None:
        with mpl.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            figure.savefig(partial, format=kind, dpi=_PNG_DPI)

    _write(path, write)


def save_text(text: str, path: Path) -> None:
    """Write a text atomically.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    _write(path, lambda partial: partial.write_text(text, "utf-8"))


def create_folder(path: Path) -> None:
    """Create a folder and the folders above.

    Raises
    ------
    OutputError
        The folder cannot be created.
    """
    with file_errors(OutputError, f"{path} cannot be written"):
        path.mkdir(parents=True, exist_ok=True)


def _write(path: Path, write: Callable[[Path], object]) -> None:
    with file_errors(OutputError, f"{path} cannot be written"):
        path.parent.stat()  # raises if the folder is missing
        with atomic_write(path) as partial:
            write(partial)
