"""Dialects of formats, from TOML: the program that reads each, and the layouts of its files."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from philly_analysis.exports.layout import Layout

FILE = ""
"""Name of the only file of an export that is no folder."""

_FORMATS = Path(__file__).parent / "formats"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One variant of a format, described in ``formats/<format>.toml``.

    Attributes
    ----------
    format, name
        Names that users type.
    program
        Name of the program that reads the file; other programs that read the same file may follow.
    source
        Repository and commit, or package and version, that was run; empty: not run.
    needs
        What the program runs on, versions pinned.
    command
        Shell lines that run the program. ``$gpus``, ``$nodes`` and ``$per_node`` are of the target
        cluster, ``$jobs`` is the number of records, ``$$OUT`` the export.
    rules
        Which jobs the program accepts, by the program's code.
    carries, not_carried
        What of a job is in the file, and sentences on what is never in the file.
    assumed, sources
        Sentences: what every file needs and a workload lacks; where such numbers come from.
        ``$throughputs`` is the name of the program's own file.
    profiles
        Table of published profiles that jobs draw from; empty: none.
    layouts
        Layout of each delimited file by its name; the file of jobs is first.
    documents
        Unit and meaning of each field of the other files, by the name of the file.
    folder
        Whether an export is a folder of several files.
    gangs
        Gang sizes that the program accepts, ascending; empty: all.
    estimates
        Kinds of estimated run times that the file can hold, its default first.
    throughputs
        The program's own file of measured speeds that is required; empty: none.
    timed
        Whether jobs without a run time are excluded.
    """

    format: str
    name: str
    program: str
    rules: str
    carries: str
    layouts: Mapping[str, Layout]
    source: str = ""
    needs: str = ""
    command: str = ""
    not_carried: Sequence[str] = ()
    assumed: Sequence[str] = ()
    sources: Sequence[str] = ()
    profiles: str = ""
    folder: bool = False
    gangs: Sequence[int] = ()
    estimates: Sequence[str] = ()
    throughputs: str = ""
    timed: bool = True
    documents: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    def dictionary(self) -> list[dict[str, str]]:
        """Return file, name, unit and meaning of each column or field that an export may have."""
        described = {file or ".": layout.columns for file, layout in self.layouts.items()}
        return [
            {"file": file, "name": name, "unit": unit, "meaning": meaning}
            for file, columns in (*described.items(), *self.documents.items())
            for name, (unit, meaning) in columns.items()
        ]

    def __str__(self) -> str:
        """Return its name for a message."""
        return f"{self.format} ({self.name})"


def read_dialects(name: str) -> list[Dialect]:
    """Return the dialects in a format's description, the default first."""
    description = tomllib.loads((_FORMATS / f"{name}.toml").read_text("utf-8"))
    layouts = {
        k: _layout(table, description.get("columns", {}))
        for k, table in description.get("layouts", {}).items()
    }
    dialects = []
    for dialect, table in description["dialects"].items():
        files = table.pop("files", {FILE: dialect} if dialect in layouts else {})
        table["layouts"] = {file: layouts[layout] for file, layout in files.items()}
        table["documents"] = description.get("documents", {})
        dialects.append(Dialect(name, dialect, **table))
    return dialects


def _layout(table: dict[str, Any], shared: Mapping[str, Sequence[str]]) -> Layout:
    """Return a layout, whose columns have a description of their own or a shared one."""
    described = table.pop("columns", {})
    columns = {name: described.get(name) or shared[name] for name in table["fields"]}
    return Layout(**table, columns=columns)
