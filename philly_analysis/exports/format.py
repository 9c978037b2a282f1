"""What a format is: its dialects, the programs that read them, how each is written and checked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from philly_analysis.errors import UnknownNameError
from philly_analysis.exports.request import Request
from philly_analysis.study import Estimates


@dataclass(frozen=True, slots=True)
class Program:
    """A program that reads a format, and how it is told to.

    Attributes
    ----------
    name
        What people call it; others that read the same file may follow.
    source
        Repository and commit, or package and version, that it was run at; empty: not run.
    needs
        What it runs on, versions pinned.
    command
        Shell lines that run it. ``$gpus``, ``$nodes`` and ``$per_node`` stand for the target
        cluster, ``$jobs`` for the records of the file, ``$$OUT`` for the export.
    rules
        Which jobs it takes and which not, by its own code.
    """

    name: str
    source: str = ""
    needs: str = ""
    command: str = ""
    rules: str = "every job"


@dataclass(frozen=True, slots=True)
class Taken:
    """What a program takes from a file by its own rules.

    Attributes
    ----------
    jobs
        Jobs; the parts of a gang that was split are one.
    gpu_s
        Their GPU-seconds as the program sees them; None: it has run times of its own.
    """

    jobs: int
    gpu_s: float | None


def taken_of(
    request: Request, gpus: pl.Series, run_s: pl.Series, kept: pl.Series | None = None
) -> Taken:
    """Count what a program takes of a file with one record per row of ``request.jobs``.

    Parameters
    ----------
    gpus, run_s
        Of each record, as the program reads them from the file.
    kept
        Which records it takes; None: all.
    """
    asked = request.jobs["job_id"]
    kept = pl.Series([True]).new_from_index(0, gpus.len()) if kept is None else kept
    gpu_s = (gpus.cast(pl.Float64) * run_s.cast(pl.Float64)).filter(kept).sum()
    return Taken(asked.filter(kept).n_unique(), float(gpu_s))


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer did.

    Attributes
    ----------
    jobs
        Records in the file: jobs, or parts of gangs that were split.
    assumed, not_carried
        Sentences: what had to be assumed for this workload, and what of it did not fit.
    sources
        Where assumed numbers come from.
    """

    jobs: int
    assumed: tuple[str, ...] = ()
    not_carried: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """One spelling of a format.

    Attributes
    ----------
    program
        The program that takes it.
    carries, not_carried
        What of a job is in the file, and sentences about what never is.
    taken
        Counts what the program takes of a written file, by the program's own rules.
    faults
        Checks a file, or a folder where `folder`, against every byte-level rule; returns what is
        wrong with it. The second argument is the consumer's own file of speeds, or None.
    gangs
        Gang sizes that its reader takes; None: all.
    estimates
        Kinds of estimated run times that it has a place for, its default first; empty: none.
    throughputs
        The consumer's file of speeds that it needs; empty: none.
    timed
        True when jobs without a run time are left out.
    """

    name: str
    program: Program
    carries: str
    write: Callable[[Request, Path], Written]
    taken: Callable[[Request, Path], Taken]
    faults: Callable[[Path, Path | None], list[str]]
    not_carried: tuple[str, ...] = ()
    folder: bool = False
    gangs: Sequence[int] | None = None
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
