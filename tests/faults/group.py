"""Limit the memory of a group of processes with a cgroup."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")
_PATIENCE_S = 20


@dataclass(frozen=True)
class Version:
    """What a version of cgroups calls the limit, and the account of who was killed."""

    limit: str
    account: str


_FIRST = Version("memory.limit_in_bytes", "memory.oom_control")
_SECOND = Version("memory.max", "memory.events")


@dataclass(frozen=True)
class Group:
    """A group that was made for one command."""

    folder: Path
    version: Version

    def join(self) -> None:
        """Make this process one of it, and so all that it starts."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def killed(self) -> int:
        """Return how many of it the kernel killed for lack of memory."""
        lines = (self.folder / self.version.account).read_text().splitlines()
        return int(dict(line.split() for line in lines)["oom_kill"])


def _above() -> tuple[Path, Version]:
    """Return the folder in which a group with a limit of memory can be made.

    Raises
    ------
    OSError
        There is none.
    """
    own = {kind: path for _, kind, path in (line.split(":", 2) for line in _lines(_OWN))}
    for line in _lines(_MOUNTS):
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        _, _, _, root, at, *_ = mount.split()
        if kind == "cgroup" and "memory" in options.split(","):
            path = next(path for kinds, path in own.items() if "memory" in kinds.split(","))
            return Path(at, os.path.relpath(path, root)), _FIRST
        if kind == "cgroup2":
            # one that holds processes gives no limits to those in it, so that it is made beside
            beside = Path(at, os.path.relpath(own[""], root)).parent
            if "memory" in (beside / "cgroup.subtree_control").read_text().split():
                return beside, _SECOND
    raise OSError(0, "no cgroup that gives limits of memory is mounted")


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


@contextmanager
def group(memory: int) -> Iterator[Group]:
    """Make a group of processes that may have so many bytes together, and remove it.

    Raises
    ------
    OSError
        There can be none.
    AssertionError
        Processes in it go on when the block ends.
    """
    above, version = _above()
    made = Group(above / f"philly-faults-{os.getpid()}", version)
    made.folder.mkdir()
    try:
        (made.folder / version.limit).write_text(str(memory))
        yield made
    finally:
        ends = time.monotonic() + _PATIENCE_S
        while made.folder.exists() and time.monotonic() < ends:
            with suppress(OSError):  # what ended is in it for a moment more
                made.folder.rmdir()
            time.sleep(0.01)
    assert not made.folder.exists(), f"go on: {_lines(made.folder / 'cgroup.procs')}"
