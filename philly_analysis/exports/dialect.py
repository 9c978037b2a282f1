"""Formats and dialects: the program that reads each, and how files are written and checked."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from philly_analysis.errors import UnknownNameError
from philly_analysis.exports.layout import Layout
from philly_analysis.exports.request import Request
from philly_analysis.study import Estimates

_FORMATS = Path(__file__).parent / "formats"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a program accepts of a file by its own rules.

    Attributes
    ----------
    jobs
        Jobs; the parts of a gang that was split count as one.
    gpu_s
        Their GPU-seconds in the program's own terms; None: it has run times of its own.
    """

    jobs: int
    gpu_s: float | None


@dataclass(frozen=True, slots=True)
class Notes:
    """Sentences on a written file, for its sidecar.

    Attributes
    ----------
    assumed, not_carried
        What the file needs and the workload lacks; what of the workload did not fit.
    sources
        Where assumed numbers come from.
    """

    assumed: tuple[str, ...] = ()
    not_carried: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Codec:
    """The functions of a dialect.

    Attributes
    ----------
    write
        Writes a request to a file, or into a folder.
    accepted
        Counts what the program accepts of a written file.
    validate
        Returns the violations of every byte-level rule in a file or folder. The second argument
        is the program's own file of measured speeds, or None.
    """

    write: Callable[[Request, Path], Notes]
    accepted: Callable[[Request, Path], Accepted]
    validate: Callable[[Path, Path | None], list[str]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One variant of a format, described in ``formats/<format>.toml``.

    Attributes
    ----------
    program
        Name of the program that reads it; others that read the same file may follow.
    source
        Repository and commit, or package and version, that was run; empty: not run.
    needs
        What the program runs on, versions pinned.
    command
        Shell lines that run it. ``$gpus``, ``$nodes`` and ``$per_node`` are of the target
        cluster, ``$jobs`` is the number of records, ``$$OUT`` the export.
    rules
        Which jobs the program accepts, by its own code.
    carries, not_carried
        What of a job is in the file, and sentences on what never is.
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

    name: str
    codec: Codec
    program: str
    rules: str
    carries: str
    source: str = ""
    needs: str = ""
    command: str = ""
    not_carried: tuple[str, ...] = ()
    folder: bool = False
    gangs: tuple[int, ...] = ()
    estimates: tuple[Estimates, ...] = ()
    throughputs: str = ""
    timed: bool = True


@dataclass(frozen=True, slots=True)
class Format:
    """A format, by the name that users type; its first dialect is the default."""

    name: str
    dialects: tuple[Dialect, ...]

    def dialect(self, name: str | None = None) -> Dialect:
        """Return a dialect by name, or the default.

        Raises
        ------
        UnknownNameError
            The format has no dialect of that name.
        """
        if name is None:
            return self.dialects[0]
        for dialect in self.dialects:
            if dialect.name == name:
                return dialect
        raise UnknownNameError(f"dialect of {self.name}", name, [d.name for d in self.dialects])


def _description(name: str) -> dict[str, Any]:
    return tomllib.loads((_FORMATS / f"{name}.toml").read_text("utf-8"))


def read_layouts(name: str) -> dict[str, Layout]:
    """Return the layouts of the delimited files in a format's description, by name."""
    return {key: Layout.of(**table) for key, table in _description(name)["layouts"].items()}


def read_format(name: str, **codecs: Codec) -> Format:
    """Return a format from its description and the codec of each of its dialects."""
    dialects = []
    for dialect, table in _description(name)["dialects"].items():
        table |= {key: tuple(table.get(key, ())) for key in ("not_carried", "gangs")}
        table["estimates"] = tuple(map(Estimates, table.get("estimates", ())))
        dialects.append(Dialect(dialect, codecs[dialect], **table))
    return Format(name, tuple(dialects))


def accepted_jobs(
    request: Request, gpus: pl.Series, run_s: pl.Series, kept: pl.Series | None = None
) -> Accepted:
    """Count what a program accepts of a file with one record per row of ``request.jobs``.

    Parameters
    ----------
    gpus, run_s
        Of each record, as the program reads them from the file.
    kept
        Which records it accepts; None: all.
    """
    jobs = request.jobs["job_id"]
    kept = pl.Series([True]).new_from_index(0, gpus.len()) if kept is None else kept
    gpu_s = (gpus.cast(pl.Float64) * run_s.cast(pl.Float64)).filter(kept).sum()
    return Accepted(jobs.filter(kept).n_unique(), float(gpu_s))
