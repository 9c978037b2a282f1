"""Limit the memory of a group of processes with a cgroup."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")
_TIMEOUT_S = 20


Files = tuple[str, str]
"""The files of a cgroup that limit memory, and that count killed processes."""
_VERSION_1 = ("memory.limit_in_bytes", "memory.oom_control")
_VERSION_2 = ("memory.max", "memory.events")


@dataclass(frozen=True)
class Group:
    """The cgroup of one command."""

    folder: Path
    events: str

    def join(self) -> None:
        """Move this process, and so the processes that it starts, into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def killed(self) -> int:
        """Return how many of its processes the kernel killed for lack of memory."""
        lines = (self.folder / self.events).read_text().splitlines()
        return int(dict(line.split() for line in lines)["oom_kill"])


def _parent() -> tuple[Path, Files]:
    """Return a folder in which a cgroup with a memory limit can be created, or raise OSError."""
    own = {kind: path for _, kind, path in (line.split(":", 2) for line in _lines(_OWN))}
    for line in _lines(_MOUNTS):
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        _, _, _, root, at, *_ = mount.split()
        if kind == "cgroup" and "memory" in options.split(","):
            path = next(path for kinds, path in own.items() if "memory" in kinds.split(","))
            return Path(at, os.path.relpath(path, root)), _VERSION_1
        if kind == "cgroup2":
            # a cgroup that contains processes cannot limit its children: create a sibling
            beside = Path(at, os.path.relpath(own[""], root)).parent
            if "memory" in (beside / "cgroup.subtree_control").read_text().split():
                return beside, _VERSION_2
    raise OSError(0, "no cgroup with memory limits is mounted")


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


@contextmanager
def group(memory: int) -> Iterator[Group]:
    """Create a cgroup whose processes share so many bytes of memory, and remove it.

    Raises
    ------
    OSError
        No cgroup can be created.
    AssertionError
        Its processes still run when the block ends.
    """
    parent, (limit, events) = _parent()
    made = Group(parent / f"philly-faults-{os.getpid()}", events)
    made.folder.mkdir()
    try:
        (made.folder / limit).write_text(str(memory))
        yield made
    finally:
        deadline = time.monotonic() + _TIMEOUT_S
        while made.folder.exists() and time.monotonic() < deadline:
            with suppress(OSError):  # ended processes leave it a moment later
                made.folder.rmdir()
            time.sleep(0.01)
    assert not made.folder.exists(), f"still running: {_lines(made.folder / 'cgroup.procs')}"
