"""Codecs of formats: write an export, count what its program accepts, and check its bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from philly_analysis.errors import UnknownNameError
from philly_analysis.exports.dialect import Dialect, read_dialects
from philly_analysis.exports.layout import violations
from philly_analysis.exports.request import Request


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
    """Sentences on one written file, beside those of its dialect: see :class:`Dialect`."""

    assumed: tuple[str, ...] = ()
    not_carried: tuple[str, ...] = ()


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
        Returns the violations of every byte-level rule in a file or folder. The third argument
        is the program's own file of measured speeds, or None.
    """

    write: Callable[[Request, Path], Notes]
    accepted: Callable[[Request, Path], Accepted]
    validate: Callable[[Dialect, Path, Path | None], list[str]]


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


@dataclass(frozen=True, slots=True)
class Content:
    """The files of an export in a delimited format.

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
    notes: Notes = Notes()
    others: Mapping[str, bytes] = field(default_factory=dict)
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """The file of jobs of an export whose layouts hold, to check for the rules beyond them.

    Attributes
    ----------
    rows
        Its fields, as text.
    throughputs
        The program's own file of measured speeds, or None.
    """

    dialect: Dialect
    path: Path
    rows: pl.DataFrame
    throughputs: Path | None

    def beside(self, name: str) -> pl.DataFrame:
        """Return the fields of another delimited file of the export, as text."""
        return self.dialect.layouts[name].read(self.path.with_name(name))

    def violations(self, column: str, wrong: pl.Series, rule: str) -> list[str]:
        """Return how many values of a column violate a rule, and the first that does."""
        return violations(self.path, self.rows[column], wrong, rule)

    def unknown(self, known: pl.DataFrame, key: list[str], rule: str) -> list[str]:
        """Return the violation that keys, named by their first column, miss in a table."""
        text = known.select(pl.col(key).cast(pl.String), known=pl.lit(True)).unique()
        joined = self.rows.join(text, on=key, how="left", maintain_order="left")
        return self.violations(key[0], joined["known"].is_null(), rule)


def delimited(
    content: Callable[[Request], Content],
    accepted: Callable[[Request, pl.DataFrame], Accepted],
    check: Callable[[Written], list[str]] = lambda _: [],
) -> Codec:
    """Return the codec of a dialect whose files are delimited text, by its layouts.

    Parameters
    ----------
    content
        Returns the files of a request.
    accepted
        Counts what the program accepts of the rows of jobs, which are text.
    check
        Returns the violations of rules that no layout has. It is called if all layouts hold.
    """

    def read(dialect: Dialect, path: Path) -> tuple[Path, pl.DataFrame]:
        name, layout = next(iter(dialect.layouts.items()))
        return path / name, layout.read(path / name)

    def write(request: Request, path: Path) -> Notes:
        made = content(request)
        for name, rows in made.tables.items():
            request.dialect.layouts[name].write(rows, path / name, comments=made.comments)
        for name, data in made.others.items():
            (path / name).write_bytes(data)
        return made.notes

    def validate(dialect: Dialect, path: Path, throughputs: Path | None) -> list[str]:
        found = [v for name, each in dialect.layouts.items() for v in each.validate(path / name)]
        return found or check(Written(dialect, *read(dialect, path), throughputs))

    return Codec(
        write, lambda request, path: accepted(request, read(request.dialect, path)[1]), validate
    )
