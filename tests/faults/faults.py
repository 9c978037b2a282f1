"""Faults of a command, one round at a time: kills, full and read-only disks, limits of memory.

Each fault runs a command in a folder of its own. Afterwards every output must be the old one or the
one that the command writes without a fault; the same command must then succeed, and leave no
temporary files.
"""

import os
import random
import resource
import shutil
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from philly_analysis.errors import PhillyError
from tests.faults.cgroup import group
from tests.faults.commands import (
    COMMANDS,
    Command,
    Ended,
    Running,
    leftovers,
    outcome,
    run_fresh,
    stored_relations,
)
from tests.faults.mounts import BIND, READ_ONLY, REMOUNT, may_mount, mount, unmount

Injected = tuple[str, Ended | None]
"""The effect of a fault, and how the command ended unless it was killed."""
_TRIES = 3
"""Limit on rounds per fault: a command may end before the fault occurs."""


@dataclass(frozen=True)
class Baseline:
    """A run without a fault: the outputs before and after, and the time and space it took."""

    command: Command
    before: dict[str, str]
    after: dict[str, str]
    relations: dict[str, str]
    takes_s: float
    grows: int
    largest: int

    @classmethod
    def of(cls, command: Command, at: Path) -> "Baseline":
        """Run the command once, which must succeed."""
        place = at / "baseline"
        command.prepare(place)
        before, held = outcome(place), _bytes(place)
        began = time.monotonic()
        ended = Running(command.words(place), place / "tmp").wait()
        takes_s = time.monotonic() - began
        assert ended.status == 0, ended.stderr
        sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
        after, relations, grows = outcome(place), stored_relations(place), _bytes(place) - held
        assert leftovers(place, kept=True) == [], leftovers(place, kept=True)
        shutil.rmtree(place)
        return cls(command, before, after, relations, takes_s, max(grows, 1 << 16), max(sizes))


class Fault(ABC):
    """Something that disturbs a command.

    Attributes
    ----------
    survives
        The command continues: it must print what is wrong, and leave no temporary files.
    """

    survives: bool = True

    @contextmanager
    def prepared(self, place: Path) -> Iterator[None]:
        """Create the folder of a round, and remove it."""
        place.mkdir()
        try:
            yield
        finally:
            shutil.rmtree(place, ignore_errors=True)

    @abstractmethod
    def inject(self, baseline: Baseline, place: Path, rng: random.Random) -> Injected:
        """Run the command with the fault; return its effect (empty: none) and how it ended."""

    def undo(self, place: Path) -> None:  # noqa: B027 - most faults end with the command
        """End the fault."""

    def unavailable(self, at: Path) -> str:
        """Return why the fault cannot be injected here; empty: it can."""
        return ""


class Killed(Fault):
    """The command's process group is killed with -9 at a random moment of its run."""

    survives = False

    def inject(self, baseline: Baseline, place: Path, rng: random.Random) -> Injected:
        running = Running(baseline.command.words(place), place / "tmp")
        time.sleep(rng.uniform(0, baseline.takes_s))
        return "killed" if running.kill() else "", None


class FileSize(Fault):
    """The size of files is limited, as by a quota; it needs no mount."""

    def inject(self, baseline: Baseline, place: Path, rng: random.Random) -> Injected:
        most = int(baseline.largest ** rng.random())
        ended = Running(
            baseline.command.words(place), place / "tmp", {resource.RLIMIT_FSIZE: most}
        ).wait()
        return "", ended


class Memory(Fault):
    """The address space is limited, as by `ulimit -v`; a library may then abort the process."""

    survives = False

    def inject(self, baseline: Baseline, place: Path, rng: random.Random) -> Injected:
        most = int(2 ** rng.uniform(26, 32))
        ended = run_fresh(baseline.command.words(place), place / "tmp", most)
        return "ended" if ended.status else "", None


class CgroupMemory(Fault):
    """The memory of all its processes is limited: beyond it the kernel kills one of them."""

    survives = False

    def inject(self, baseline: Baseline, place: Path, rng: random.Random) -> Injected:
        with group(int(2 ** rng.uniform(26, 30))) as held:
            ended = run_fresh(baseline.command.words(place), place / "tmp", first=held.join)
            killed = held.killed()
        return f"killed, {'ended' if ended.status else 'done'}" if killed else "", None

    def unavailable(self, at: Path) -> str:
        try:
            with group(1 << 30):
                return ""
        except OSError as error:
            return f"no cgroup can be created here ({error.strerror})"


class _Disk(Fault):
    """A fault of the disk, which is mounted on the folder of a round."""

    kind = ""
    flags = 0
    options = ""

    @contextmanager
    def prepared(self, place: Path) -> Iterator[None]:
        place.mkdir()
        mount(str(place), place, self.kind, self.flags, self.options)
        try:
            yield
        finally:
            unmount(place)
        shutil.rmtree(place)

    def undo(self, place: Path) -> None:
        mount(str(place), place, self.kind, REMOUNT | self.flags, self.options)

    def unavailable(self, at: Path) -> str:
        return may_mount(at)


class FullDisk(_Disk):
    """The disk fills up: a tmpfs with a random part of the space that the command needs."""

    kind = "tmpfs"
    options = "size=1g"

    def inject(self, baseline: Baseline, place: Path, rng: random.Random) -> Injected:
        disk = os.statvfs(place)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        free = int(baseline.grows * rng.uniform(0, 1.2))
        mount(str(place), place, self.kind, REMOUNT, f"size={used + free}")
        return "", Running(baseline.command.words(place), place / "tmp").wait()


class ReadOnly(_Disk):
    """The disk of the output is read-only; scratch space is elsewhere."""

    flags = BIND

    def inject(self, baseline: Baseline, place: Path, rng: random.Random) -> Injected:
        mount(str(place), place, "", REMOUNT | BIND | READ_ONLY, "")
        scratch = place.with_name("scratch")
        scratch.mkdir(exist_ok=True)
        ended = Running(baseline.command.words(place), scratch).wait()
        assert baseline.command.read_only == (ended.status == 0), f"{ended.status}: {ended.stderr}"
        assert not any(scratch.iterdir()), "scratch files are left"
        return "refused" if ended.status else "succeeded", ended


FAULTS: dict[str, Fault] = {
    "kill -9": Killed(),
    "full disk": FullDisk(),
    "file size": FileSize(),
    "read-only": ReadOnly(),
    "memory": Memory(),
    "cgroup": CgroupMemory(),
}


def rounds(fault: str, command: str, count: int, at: Path, rng: random.Random) -> Counter[str]:
    """Inject a fault into a command `count` times, and count the effects.

    Raises
    ------
    AssertionError
        Output was lost, temporary files are left, or the command fails when it is repeated.
    """
    injected, outcomes = FAULTS[fault], Counter[str]()
    baseline = Baseline.of(COMMANDS[command], at)
    for number in range(_TRIES * count):
        if sum(outcomes.values()) - outcomes["not hit"] >= count:
            break
        where, place = f"{fault}, {command}, round {number}", at / "round"
        try:
            with injected.prepared(place):
                outcomes[_round(injected, baseline, place, rng)] += 1
        except (PhillyError, OSError, AssertionError) as error:
            raise AssertionError(f"{where}: {error}") from error
    return outcomes


def _round(injected: Fault, baseline: Baseline, place: Path, rng: random.Random) -> str:
    command = baseline.command
    command.prepare(place)
    result, ended = injected.inject(baseline, place, rng)
    if ended:
        result = result or ("refused" if ended.status else "not hit")
        assert ended.explained, f"{ended.status}: {ended.stderr}"
    state = outcome(place)
    outputs = {*baseline.before, *baseline.after}
    assert state.keys() <= outputs, f"unexpected: {state.keys() - outputs}"
    for output in outputs:
        allowed = baseline.before.get(output), baseline.after.get(output)
        assert state.get(output) in allowed, f"{output} is neither the old nor the new one"
    if injected.survives:
        assert leftovers(place) == [], f"left by a command that survived: {leftovers(place)}"
    injected.undo(place)
    done = any(state.get(output) and baseline.after[output] for output in baseline.after)
    ended = Running(command.words(place, done=done), place / "tmp").wait()
    assert ended.status == 0, f"fails when it is repeated: {ended.stderr}"
    now = outcome(place)
    other = [
        output for output in now | baseline.after if now.get(output) != baseline.after.get(output)
    ]
    assert not other, f"{', '.join(other)}: differs when the command is repeated"
    # relations whose results are cached may never be stored
    assert stored_relations(place).items() <= baseline.relations.items(), "stored relations differ"
    assert leftovers(place, kept=True) == [], f"left: {leftovers(place, kept=True)}"
    return result or "not hit"


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
