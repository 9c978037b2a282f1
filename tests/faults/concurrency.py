"""Run two commands on one output at once, and queries while a trace is replaced."""

import random
import shutil
import time
from collections import Counter
from itertools import permutations
from multiprocessing.connection import Connection
from pathlib import Path

import duckdb

from philly_analysis import Trace
from philly_analysis.atomic import atomic_write
from philly_analysis.errors import PhillyError
from tests.faults.commands import (
    COMMANDS,
    FORKED,
    Command,
    Running,
    finish,
    leftovers,
    outcome,
)

_APPEND, _FORCE = COMMANDS["ingest --append"], COMMANDS["ingest --force"]
_QUERY, _REPORT = COMMANDS["stored relations"], COMMANDS["report again"]
PAIRS: dict[str, tuple[Command, Command]] = {
    "two ingests": (COMMANDS["ingest"], COMMANDS["ingest"]),
    "ingest, simulate --force": (_FORCE, COMMANDS["simulate --force"]),
    "two appends": (_APPEND, _APPEND),
    "append, ingest --force": (_APPEND, _FORCE),
    "two readers": (_QUERY, _QUERY),
    "reader, ingest --force": (_QUERY, _FORCE),
    "two reports": (_REPORT, _REPORT),
    "two exports": (COMMANDS["export"], COMMANDS["export"]),
    "two exports --force": (COMMANDS["export --force"], COMMANDS["export --force"]),
    "two fetches": (COMMANDS["fetch"], COMMANDS["fetch"]),
    "two fits": (COMMANDS["fit"], COMMANDS["fit"]),
}
"""Pairs of commands by name, with the inputs of the first command."""
_QUERIES = (
    "select count(*) from jobs",
    "select sum(gpus) from jobs",
    "select count(*) from attempts",
    "select count(*) from waits",
)


def race(name: str, count: int, at: Path, rng: random.Random) -> Counter[str]:
    """Start two commands at about the same time, `count` times; count how many succeeded.

    Raises
    ------
    AssertionError
        The output is of neither command, neither succeeds, or one fails without a message.
    """
    pair, outcomes = PAIRS[name], Counter[str]()
    before, states, takes_s = _in_order(pair, at)
    for number in range(count):
        place = at / "round"
        pair[0].prepare(place)
        first, second = rng.sample(pair, 2)
        one = Running(first.words(place), place / "tmp")
        time.sleep(rng.uniform(0, takes_s))
        both = one, Running(second.words(place), place / "tmp")
        ends = [running.wait() for running in both]
        where = f"{name}, round {number}"
        assert all(end.explained for end in ends), f"{where}: {[end.stderr for end in ends]}"
        assert any(end.status == 0 for end in ends), f"{where}: {[end.stderr for end in ends]}"
        after = outcome(place)
        for piece in after.keys() | before.keys():
            assert after.get(piece) in states.get(piece, ()), (
                f"{where}: {piece} is the output of neither"
            )
        assert not (remains := leftovers(place, kept=True)), f"{where}: left: {remains}"
        outcomes["both" if not any(end.status for end in ends) else "one"] += 1
        shutil.rmtree(place)
    return outcomes


def _in_order(
    pair: tuple[Command, Command], at: Path
) -> tuple[dict[str, str], dict[str, set[str | None]], float]:
    """Return the outputs before, the possible outputs after, and the time of the first command."""
    states: dict[str, set[str | None]] = {}
    takes_s = 0.0
    place = at / "in-order"
    for orders in ((one,) for one in pair), permutations(pair):
        for order in orders:
            pair[0].prepare(place)
            before = outcome(place)
            began = time.monotonic()
            for command in order:
                ended = Running(command.words(place), place / "tmp").wait()
                takes_s = takes_s or time.monotonic() - began
                assert ended.explained, ended.stderr
                for piece, digest in outcome(place).items():
                    states.setdefault(piece, {before.get(piece)}).add(digest)
            shutil.rmtree(place)
    return before, states, takes_s


def read_while_replaced(count: int, at: Path, rng: random.Random) -> Counter[str]:
    """Replace a trace by two others in turns while it is queried; count answers and errors.

    Raises
    ------
    AssertionError
        A result mixes the two traces.
    """
    once, place = at / "once", at / "round"
    place.mkdir()
    out, states = place / "out", {}
    for name in ("trace", "other"):
        shutil.copytree(once / name, place / name)
        finish(["query", str(place / name), _QUERIES[-1]], at / "once" / "tmp")
        with Trace(place / name) as trace:
            states[tuple(trace.sql(sql).fetchall()[0][0] for sql in _QUERIES)] = name
    shutil.copytree(place / "trace", out)
    received, sender = FORKED.Pipe(duplex=False)
    reader = FORKED.Process(target=_read, args=(str(out), sender, rng.random()))
    reader.start()
    sender.close()
    outcomes = Counter[str]()
    for number in range(count):
        time.sleep(rng.uniform(0, 0.3))
        with atomic_write(out) as partial:
            shutil.copytree(place / ("other" if number % 2 else "trace"), partial)
        while received.poll():
            answers = received.recv()
            if isinstance(answers, str):
                outcomes["refused"] += 1
            else:
                assert answers in states, f"a mixture: {answers} is none of {list(states)}"
                outcomes["answered"] += 1
    reader.kill()
    reader.join()
    shutil.rmtree(place)
    return outcomes


def _read(path: str, sender: Connection, seed: float) -> None:
    rng = random.Random(seed)
    while True:
        try:
            with Trace(path) as trace:
                relations = [trace.sql(sql) for sql in _QUERIES]
                time.sleep(rng.uniform(0, 0.1))
                sender.send(tuple(rows.fetchall()[0][0] for rows in relations))
        except (PhillyError, duckdb.Error) as error:
            sender.send(str(error))
