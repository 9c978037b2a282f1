"""Damage the files of a trace: its numbers must be equal, or reading them an error."""

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from philly_analysis import Trace, analyze, verify
from philly_analysis.errors import PhillyError, TraceError
from philly_analysis.trace import result_cache
from philly_analysis.trace.manifest import DERIVED, Manifest
from tests.faults.commands import digest_of

_ASKED = ("job_status", "gpu_util", "queueing_delay")


def flipped(file: Path, dice: random.Random) -> None:
    """Turn one bit over."""
    data = bytearray(file.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    file.write_bytes(data)


def rotten(file: Path, dice: random.Random) -> None:
    """Turn one bit over under an unchanged date, as a disk does."""
    stat = file.stat()
    flipped(file, dice)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def cut(file: Path, dice: random.Random) -> None:
    """Cut it off: somewhere, at the ends, in the middle."""
    size = file.stat().st_size
    os.truncate(file, dice.choice([0, 1, size // 2, size - 1, dice.randrange(size)]))


def missing(file: Path, dice: random.Random) -> None:
    """Take it away."""
    file.unlink()


def swapped(file: Path, dice: random.Random) -> None:
    """Swap it with another file of the trace."""
    trace = next(folder for folder in file.parents if (folder / "jobs.parquet").exists())
    others = [path for path in trace.rglob("*") if path.is_file() and path != file]
    other = dice.choice([path for path in others if path.suffix == file.suffix] or others)
    aside = file.with_name("aside")
    file.rename(aside)
    other.rename(file)
    aside.rename(other)


def doubled(file: Path, dice: random.Random) -> None:
    """Lay a copy of it beside it."""
    shutil.copyfile(file, file.with_name(f"a-{file.name}"))


DAMAGE: dict[str, Callable[[Path, random.Random], None]] = {
    "bit flipped": flipped,
    "bit rotten": rotten,
    "cut": cut,
    "missing": missing,
    "swapped": swapped,
    "extra file": doubled,
}


def files_of(trace: Path) -> list[str]:
    """Return the files of a trace: manifest, tables, raw records, what is stored and kept."""
    return sorted(
        path.relative_to(trace).as_posix()
        for path in trace.rglob("*")
        if path.is_file() and path.stat().st_size
    )


def numbers(trace: Path) -> dict[str, str]:
    """Return what a trace says: its manifest, tables, stored relations, findings and figures."""
    with Trace(trace) as held:
        said = {"manifest": held.manifest.to_json()}
        for name in (*sorted(held.tables), "waits", "gpu_use"):
            said[name] = digest_of(repr(sorted(map(repr, held.answer(name).fetchall()))))
        for name, result in analyze(held, _ASKED).items():
            said[f"{name}: table"] = digest_of(result.to_csv())
            said[f"{name}: facts"] = digest_of(repr(result.facts))
            if (drawing := result_cache.load_figure(held, name)) is not None:
                said[f"{name}: figure"] = drawing
    return said


def spoil(kind: str, count: int, at: Path, dice: random.Random) -> Counter[str]:
    """Damage every file of a trace in turn, `count` files in all; return how it was noticed.

    Raises
    ------
    AssertionError
        It answers other numbers than before, without a word.
    """
    place, found = at / "round", Counter[str]()
    whole = at / "once" / "answered"
    told, files = numbers(whole), files_of(whole)
    order = [dice.choice(files) for _ in range(count)] if count < len(files) else files
    for file in order:
        shutil.copytree(whole, place)
        DAMAGE[kind](place / file, dice)
        try:
            now = numbers(place)
        except PhillyError as error:
            if str(place) not in str(error):
                raise AssertionError(f"{kind}, {file}: says not what of: {error}") from error
            found["said"] += 1
        else:
            other = [name for name, said in now.items() if told.get(name, said) != said]
            assert not other, f"{kind}, {file}: other numbers of {', '.join(other)}"
            found["the same numbers"] += 1
        _check_verified(kind, file, place)
        shutil.rmtree(place)
    return found


def _check_verified(kind: str, file: str, place: Path) -> None:
    """Hold `philly verify` to finding damage of what cannot be computed again."""
    if kind == "extra file" or file.startswith(f"{DERIVED}/"):
        return
    try:
        states = verify(place).set_index("file")["state"]
    except PhillyError:
        return  # it is the manifest
    assert states.get(file) in ("damaged", "missing"), f"{kind}, {file}: verify finds nothing"


def moved(count: int, at: Path, dice: random.Random) -> Counter[str]:
    """Move and copy a trace, closed and open; return how often what was found.

    Raises
    ------
    AssertionError
        It answers otherwise than before, or nothing where it stands now.
    """
    whole, place, found = at / "once" / "answered", at / "round", Counter[str]()
    told = numbers(whole)
    for _ in range(count):
        place.mkdir()
        shutil.copytree(whole, place / "a", copy_function=dice.choice([shutil.copy2, shutil.copy]))
        with Trace(place / "a") as held:
            (place / "a").rename(place / "b")
            shutil.copytree(place / "b", place / "c", copy_function=shutil.copy)
            try:
                held.answer("attempts").fetchall()
                found["open: the same numbers"] += 1
            except TraceError:
                found["open: said"] += 1
            (place / "b").rename(place / "a")
        for name in ("a", "c"):
            assert numbers(place / name) == told, f"{name} says something else"
            assert Manifest.read(place / name).name == Manifest.read(whole).name
            found["closed: the same numbers"] += 1
        shutil.rmtree(place)
    return found
