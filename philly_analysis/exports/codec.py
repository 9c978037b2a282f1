"""Codecs of formats: write an export, and count the jobs that its program accepts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from philly_analysis.errors import UnknownNameError
from philly_analysis.exports.dialect import Dialect, read_dialects
from philly_analysis.exports.request import Request


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a program accepts of an export by its own rules.

    Attributes
    ----------
    jobs
        Number of accepted jobs; the parts of a gang that was split count as one job.
    gpu_s
        GPU-seconds of the accepted jobs in the program's own terms; None: the program has run
        times of its own.
    """

    jobs: int
    gpu_s: float | None


@dataclass(frozen=True, slots=True)
class Notes:
    """Sentences on one export, beside the sentences of its :class:`Dialect`.

    Attributes
    ----------
    assumed
        What the format requires and the workload lacks.
    not_carried
        What the workload has and the format cannot hold.
    """

    assumed: tuple[str, ...] = ()
    not_carried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """Summary of a written export: the jobs that the program accepts, and notes."""

    accepted: Accepted
    notes: Notes = Notes()


Codec = Callable[[Request, Path], Written]
"""Function of a dialect that writes a request to a file, or into a folder."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format, by the name that users type; its first dialect is the default."""

    name: str
    dialects: list[Dialect]
    codecs: Mapping[str, Codec]

    def dialect(self, name: str | None = None) -> Dialect:
        """Return a dialect by name, or the default.

        Raises
        ------
        UnknownNameError
            The format has no dialect of that name.
        """
        for dialect in self.dialects:
            if name in (dialect.name, None):
                return dialect
        raise UnknownNameError(f"dialect of {self.name}", str(name), self.codecs)


def read_format(name: str, **codecs: Codec) -> Format:
    """Return a format from its description and the codec of each of its dialects."""
    return Format(name, read_dialects(name), codecs)


def accepted_jobs(
    request: Request, gpus: pl.Series, run_s: pl.Series, accepted: pl.Series | None = None
) -> Accepted:
    """Count the accepted jobs of an export with one record per row of ``request.jobs``.

    Parameters
    ----------
    gpus, run_s
        GPUs and run time of each record, as the program reads them.
    accepted
        Whether the program accepts each record; None: the program accepts all records.
    """
    jobs = request.jobs["job_id"]
    accepted = pl.Series([True]).new_from_index(0, gpus.len()) if accepted is None else accepted
    gpu_s = (gpus.cast(pl.Float64) * run_s.cast(pl.Float64)).filter(accepted).sum()
    return Accepted(jobs.filter(accepted).n_unique(), float(gpu_s))


@dataclass(frozen=True, slots=True)
class Content:
    """The files of an export in a delimited format.

    Attributes
    ----------
    tables
        Rows of each delimited file, by file name.
    accepted
        Jobs that the program accepts.
    notes
        Sentences for the sidecar.
    others
        Bytes of each other file, by file name.
    comments
        Comment lines of the file of jobs.
    """

    tables: Mapping[str, pl.DataFrame]
    accepted: Accepted
    notes: Notes = Notes()
    others: Mapping[str, bytes] = field(default_factory=dict)
    comments: tuple[str, ...] = ()


def delimited(content: Callable[[Request], Content]) -> Codec:
    """Return the codec of a dialect whose files are delimited text, by its layouts."""

    def write(request: Request, path: Path) -> Written:
        files = content(request)
        for name, rows in files.tables.items():
            request.dialect.layouts[name].write(rows, path / name, comments=files.comments)
        for name, data in files.others.items():
            (path / name).write_bytes(data)
        return Written(files.accepted, files.notes)

    return write
