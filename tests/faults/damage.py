"""Damage the files of a trace: results must be equal, or reading it must fail."""

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

_FINDINGS = ("job_status", "gpu_util", "queueing_delay")


def flip_bit(file: Path, rng: random.Random) -> None:
    """Flip one bit."""
    data = bytearray(file.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def flip_bit_keeping_date(file: Path, rng: random.Random) -> None:
    """Flip one bit and keep the date, as a failing disk does."""
    stat = file.stat()
    flip_bit(file, rng)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def truncate(file: Path, rng: random.Random) -> None:
    """Truncate a file at its start, middle, end or a random offset."""
    size = file.stat().st_size
    os.truncate(file, rng.choice([0, 1, size // 2, size - 1, rng.randrange(size)]))


def remove(file: Path, rng: random.Random) -> None:
    """Delete a file."""
    file.unlink()


def swap(file: Path, rng: random.Random) -> None:
    """Swap a file with another file of the trace."""
    trace = next(folder for folder in file.parents if (folder / "jobs.parquet").exists())
    others = [path for path in trace.rglob("*") if path.is_file() and path != file]
    other = rng.choice([path for path in others if path.suffix == file.suffix] or others)
    aside = file.with_name("aside")
    file.rename(aside)
    other.rename(file)
    aside.rename(other)


def copy_beside(file: Path, rng: random.Random) -> None:
    """Copy a file to the same folder."""
    shutil.copyfile(file, file.with_name(f"a-{file.name}"))


DAMAGE: dict[str, Callable[[Path, random.Random], None]] = {
    "bit flipped": flip_bit,
    "bit rotten": flip_bit_keeping_date,
    "cut": truncate,
    "missing": remove,
    "swapped": swap,
    "extra file": copy_beside,
}


def files_of(trace: Path) -> list[str]:
    """Return the files of a trace: manifest, tables, raw records, stored relations and results."""
    return sorted(
        path.relative_to(trace).as_posix()
        for path in trace.rglob("*")
        if path.is_file() and path.stat().st_size
    )


def results_of(trace: Path) -> dict[str, str]:
    """Return the manifest and digests of tables, stored relations, findings and figures."""
    with Trace(trace) as opened:
        contents = {"manifest": opened.manifest.to_json()}
        for name in (*sorted(opened.tables), "waits", "gpu_use"):
            contents[name] = digest_of(repr(sorted(map(repr, opened.answer(name).fetchall()))))
        for name, result in analyze(opened, _FINDINGS).items():
            contents[f"{name}: table"] = digest_of(result.to_csv())
            contents[f"{name}: facts"] = digest_of(repr(result.facts))
            if (drawing := result_cache.load_figure(opened, name)) is not None:
                contents[f"{name}: figure"] = drawing
    return contents


def damage_files(kind: str, count: int, at: Path, rng: random.Random) -> Counter[str]:
    """Damage `count` files of a trace, one at a time; count errors and equal results.

    Raises
    ------
    AssertionError
        Results differ without an error.
    """
    place, outcomes = at / "round", Counter[str]()
    whole = at / "once" / "answered"
    before, files = results_of(whole), files_of(whole)
    order = [rng.choice(files) for _ in range(count)] if count < len(files) else files
    for file in order:
        shutil.copytree(whole, place)
        DAMAGE[kind](place / file, rng)
        try:
            now = results_of(place)
        except PhillyError as error:
            if str(place) not in str(error):
                raise AssertionError(f"{kind}, {file}: does not name the trace: {error}") from error
            outcomes["refused"] += 1
        else:
            other = [name for name, value in now.items() if before.get(name, value) != value]
            assert not other, f"{kind}, {file}: other results: {', '.join(other)}"
            outcomes["equal results"] += 1
        _check_verified(kind, file, place)
        shutil.rmtree(place)
    return outcomes


def _check_verified(kind: str, file: str, place: Path) -> None:
    """Check that `philly verify` finds damage to files that cannot be computed again."""
    if kind == "extra file" or file.startswith(f"{DERIVED}/"):
        return
    try:
        states = verify(place).set_index("file")["state"]
    except PhillyError:
        return  # the manifest is damaged
    assert states.get(file) in ("damaged", "missing"), f"{kind}, {file}: verify finds no damage"


def move(count: int, at: Path, rng: random.Random) -> Counter[str]:
    """Move and copy a trace, closed and open; count equal results and errors.

    Raises
    ------
    AssertionError
        Results differ, or the moved or copied trace cannot be read.
    """
    whole, place, outcomes = at / "once" / "answered", at / "round", Counter[str]()
    before = results_of(whole)
    for _ in range(count):
        place.mkdir()
        shutil.copytree(whole, place / "a", copy_function=rng.choice([shutil.copy2, shutil.copy]))
        with Trace(place / "a") as held:
            (place / "a").rename(place / "b")
            shutil.copytree(place / "b", place / "c", copy_function=shutil.copy)
            try:
                held.answer("attempts").fetchall()
                outcomes["open: equal results"] += 1
            except TraceError:
                outcomes["open: refused"] += 1
            (place / "b").rename(place / "a")
        for name in ("a", "c"):
            assert results_of(place / name) == before, f"other results of {name}"
            assert Manifest.read(place / name).name == Manifest.read(whole).name
            outcomes["closed: equal results"] += 1
        shutil.rmtree(place)
    return outcomes
