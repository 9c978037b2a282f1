"""Faults of a command, one round at a time: kills, full and read-only disks, limits of memory.

Each fault runs a command in a folder of its own and says how that went. What stands afterwards must
be what stood before or what the command makes undisturbed; the same command must then work, and
nothing may be left beside it.
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
from tests.faults.commands import (
    COMMANDS,
    Command,
    Ended,
    Running,
    derived,
    left_behind,
    outcome,
    typed,
)
from tests.faults.group import group
from tests.faults.mounts import BIND, READ_ONLY, REMOUNT, may_mount, mount, unmount

_TRIES = 3
"""Rounds at most for each fault that is wanted: a command may be over before it meets its own."""


@dataclass(frozen=True)
class Undisturbed:
    """A command that nothing befell: what stood before and after, and what it took."""

    command: Command
    before: dict[str, str]
    after: dict[str, str]
    relations: dict[str, str]
    takes_s: float
    grows: int
    largest: int

    @classmethod
    def of(cls, command: Command, at: Path) -> "Undisturbed":
        """Run it once.

        Raises
        ------
        AssertionError
            It fails though nothing befell it.
        """
        place = at / "undisturbed"
        command.prepare(place)
        before, held = outcome(place), _bytes(place)
        began = time.monotonic()
        ended = Running(command.words(place), place / "tmp").wait()
        takes_s = time.monotonic() - began
        assert ended.status == 0, ended.said
        sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
        after, relations, grows = outcome(place), derived(place), _bytes(place) - held
        assert left_behind(place, kept=True) == [], left_behind(place, kept=True)
        shutil.rmtree(place)
        return cls(command, before, after, relations, takes_s, max(grows, 1 << 16), max(sizes))


class Fault(ABC):
    """Something that befalls a command.

    Attributes
    ----------
    lives
        The command lives on: it must say what is wrong, and leave nothing behind.
    """

    lives: bool = True

    @contextmanager
    def around(self, place: Path) -> Iterator[None]:
        """Prepare a place for a round, which is empty, and leave it so."""
        place.mkdir()
        try:
            yield
        finally:
            shutil.rmtree(place, ignore_errors=True)

    @abstractmethod
    def befall(
        self, usual: Undisturbed, place: Path, dice: random.Random
    ) -> tuple[str, Ended | None]:
        """Run the command while it happens; return what came of it, empty: it did not happen."""

    def passes(self, place: Path) -> None:  # noqa: B027 - most is over with the command
        """End what befell."""

    def why_not(self, at: Path) -> str:
        """Say why it cannot be had here; empty: it can."""
        return ""


class Killed(Fault):
    """The command's process group is killed with -9 at a random moment of the time it takes."""

    lives = False

    def befall(
        self, usual: Undisturbed, place: Path, dice: random.Random
    ) -> tuple[str, Ended | None]:
        running = Running(usual.command.words(place), place / "tmp")
        time.sleep(dice.uniform(0, usual.takes_s))
        return "killed" if running.kill() else "", None


class FileSize(Fault):
    """No file may become larger than some size: stands for a quota, and goes without a mount."""

    def befall(
        self, usual: Undisturbed, place: Path, dice: random.Random
    ) -> tuple[str, Ended | None]:
        most = int(usual.largest ** dice.random())
        ended = Running(
            usual.command.words(place), place / "tmp", {resource.RLIMIT_FSIZE: most}
        ).wait()
        return "", ended


class Memory(Fault):
    """Limit the process's address space, as `ulimit -v` does, from its start.

    A library may end it then, as a kill does.
    """

    lives = False

    def befall(
        self, usual: Undisturbed, place: Path, dice: random.Random
    ) -> tuple[str, Ended | None]:
        most = int(2 ** dice.uniform(26, 32))
        ended = typed(usual.command.words(place), place / "tmp", most)
        return "ended" if ended.status else "", None


class MemoryOfAll(Fault):
    """The command's processes may have so much memory together: past it the kernel kills one."""

    lives = False

    def befall(
        self, usual: Undisturbed, place: Path, dice: random.Random
    ) -> tuple[str, Ended | None]:
        with group(int(2 ** dice.uniform(26, 30))) as held:
            ended = typed(usual.command.words(place), place / "tmp", first=held.join)
            killed = held.killed()
        return f"killed, {'ended' if ended.status else 'done'}" if killed else "", None

    def why_not(self, at: Path) -> str:
        try:
            with group(1 << 30):
                return ""
        except OSError as error:
            return f"no group of processes can be made here ({error.strerror})"


class FullDisk(Fault):
    """The disk becomes full: a tmpfs with some of the room that the command needs."""

    @contextmanager
    def around(self, place: Path) -> Iterator[None]:
        place.mkdir()
        mount("tmpfs", place, "tmpfs", 0, "size=1g")
        try:
            yield
        finally:
            unmount(place)
        place.rmdir()

    def befall(
        self, usual: Undisturbed, place: Path, dice: random.Random
    ) -> tuple[str, Ended | None]:
        disk = os.statvfs(place)
        held = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        room = int(usual.grows * dice.uniform(0, 1.2))
        mount("tmpfs", place, "tmpfs", REMOUNT, f"size={held + room}")
        return "", Running(usual.command.words(place), place / "tmp").wait()

    def passes(self, place: Path) -> None:
        mount("tmpfs", place, "tmpfs", REMOUNT, "size=1g")

    def why_not(self, at: Path) -> str:
        return may_mount(at)


class ReadOnly(Fault):
    """The disk that is written to is read-only; there is scratch elsewhere."""

    @contextmanager
    def around(self, place: Path) -> Iterator[None]:
        place.mkdir()
        mount(str(place), place, "", BIND, "")
        try:
            yield
        finally:
            unmount(place)
        shutil.rmtree(place)

    def befall(
        self, usual: Undisturbed, place: Path, dice: random.Random
    ) -> tuple[str, Ended | None]:
        mount("", place, "", REMOUNT | BIND | READ_ONLY, "")
        scratch = place.with_name("scratch")
        scratch.mkdir(exist_ok=True)
        ended = Running(usual.command.words(place), scratch).wait()
        assert usual.command.reads == (ended.status == 0), f"{ended.status}: {ended.said}"
        assert not any(scratch.iterdir()), "scratch is left"
        return "said" if ended.status else "worked", ended

    def passes(self, place: Path) -> None:
        mount("", place, "", REMOUNT | BIND, "")

    def why_not(self, at: Path) -> str:
        return may_mount(at)


FAULTS: dict[str, Fault] = {
    "kill -9": Killed(),
    "full disk": FullDisk(),
    "file size": FileSize(),
    "read-only": ReadOnly(),
    "memory": Memory(),
    "cgroup": MemoryOfAll(),
}


def rounds(fault: str, command: str, count: int, at: Path, dice: random.Random) -> Counter[str]:
    """Let a fault befall a command so often; return how often what came of it.

    Raises
    ------
    AssertionError
        Something was lost, or left, or does not work any more.
    """
    happens, found = FAULTS[fault], Counter[str]()
    usual = Undisturbed.of(COMMANDS[command], at)
    for number in range(_TRIES * count):
        if sum(found.values()) - found["in time"] >= count:
            break
        where, place = f"{fault}, {command}, round {number}", at / "round"
        try:
            with happens.around(place):
                found[_round(happens, usual, place, dice)] += 1
        except (PhillyError, OSError, AssertionError) as error:
            raise AssertionError(f"{where}: {error}") from error
    return found


def _round(happens: Fault, usual: Undisturbed, place: Path, dice: random.Random) -> str:
    command = usual.command
    command.prepare(place)
    came, ended = happens.befall(usual, place, dice)
    if ended:
        came = came or ("said" if ended.status else "in time")
        assert ended.clear, f"{ended.status}: {ended.said}"
    found = outcome(place)
    pieces = {*usual.before, *usual.after}
    assert found.keys() <= pieces, f"there is {found.keys() - pieces}"
    for piece in pieces:
        known = usual.before.get(piece), usual.after.get(piece)
        assert found.get(piece) in known, f"{piece} is neither the old one nor the new one"
    if happens.lives:
        assert left_behind(place) == [], f"left by one that lives: {left_behind(place)}"
    happens.passes(place)
    done = any(found.get(piece) and usual.after[piece] for piece in usual.after)
    ended = Running(command.words(place, done=done), place / "tmp").wait()
    assert ended.status == 0, f"does not work again: {ended.said}"
    now = outcome(place)
    other = [piece for piece in now | usual.after if now.get(piece) != usual.after.get(piece)]
    assert not other, f"{', '.join(other)}: another outcome when it is done again"
    # those of which the answers are kept may never be stored
    assert derived(place).items() <= usual.relations.items(), "other stored relations"
    assert left_behind(place, kept=True) == [], f"left: {left_behind(place, kept=True)}"
    return came or "in time"


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
