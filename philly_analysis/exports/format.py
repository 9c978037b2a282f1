"""What a format is: its dialects, who reads them, how each is written and checked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from philly_analysis.errors import UnknownNameError
from philly_analysis.exports.request import Request


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer did.

    Attributes
    ----------
    jobs
        Jobs in the file.
    assumed, lost
        Sentences: what had to be assumed for this workload, and what of it did not fit.
    sources
        Where assumed numbers come from.
    """

    jobs: int
    assumed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """One spelling of a format.

    Attributes
    ----------
    reader
        Programs that take it.
    carries, lost
        What of a job is in the file, and sentences about what never is.
    faults
        Checks a file, or a folder where `folder`, against every byte-level rule; returns what is
        wrong with it. The second argument is the consumer's own file of speeds, or None.
    gangs
        Gang sizes that its reader takes; None: all.
    throughputs
        The consumer's file of speeds that it needs; empty: none.
    timed
        True when jobs without a run time are left out.
    """

    name: str
    reader: str
    carries: str
    write: Callable[[Request, Path], Written]
    faults: Callable[[Path, Path | None], list[str]]
    lost: tuple[str, ...] = ()
    folder: bool = False
    gangs: Sequence[int] | None = None
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
