"""Codec of formats that are delimited text: tables to write, columns to read, rules to check."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from philly_analysis.exports.dialect import Accepted, Codec, Notes
from philly_analysis.exports.layout import Layout
from philly_analysis.exports.request import Request

FILE = ""
"""Name of the only file of an export that is no folder."""


@dataclass(frozen=True, slots=True)
class Content:
    """The files of an export.

    Attributes
    ----------
    tables
        Rows of each delimited file, by file name.
    notes
        Sentences for the sidecar.
    others
        Bytes of each other file, by file name.
    comments
        Comment lines of the file of jobs.
    """

    tables: Mapping[str, pl.DataFrame]
    notes: Notes
    others: Mapping[str, bytes] = field(default_factory=dict)
    comments: tuple[str, ...] = ()


def _nothing(path: Path, rows: pl.DataFrame, throughputs: Path | None) -> list[str]:
    return []


def delimited(
    layouts: Mapping[str, Layout],
    content: Callable[[Request], Content],
    accepted: Callable[[Request, pl.DataFrame], Accepted],
    check: Callable[[Path, pl.DataFrame, Path | None], list[str]] = _nothing,
) -> Codec:
    """Return the codec of a dialect of delimited files.

    Parameters
    ----------
    layouts
        Of each file by name, that of the jobs first; the only one is called :data:`FILE`.
    content
        Returns the files of a request.
    accepted
        Counts what the program accepts of the rows of jobs, which are text.
    check
        Returns violations that no layout states, from the path and rows of the file of jobs and
        the program's own file of speeds. It is called if all layouts hold.
    """
    jobs, layout = next(iter(layouts.items()))

    def write(request: Request, path: Path) -> Notes:
        made = content(request)
        for name, rows in made.tables.items():
            comments = made.comments if name == jobs else ()
            layouts[name].write(rows, path / name, comments=comments)
        for name, data in made.others.items():
            (path / name).write_bytes(data)
        return made.notes

    def validate(path: Path, throughputs: Path | None) -> list[str]:
        found = [v for name, each in layouts.items() for v in each.validate(path / name)]
        return found or check(path / jobs, layout.read(path / jobs), throughputs)

    return Codec(write, lambda request, path: accepted(request, layout.read(path / jobs)), validate)


def unknown(rows: pl.DataFrame, known: pl.DataFrame, key: list[str]) -> pl.Series:
    """Return for each row of a file whether its key is missing from a table."""
    text = known.select(pl.col(key).cast(pl.String), known=pl.lit(True)).unique()
    joined = rows.join(text, on=key, how="left", maintain_order="left")
    return joined["known"].is_null()
