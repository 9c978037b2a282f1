"""Reads what ``dcgmi dmon`` prints: a table that goes on, whose rows bear no time."""

import re
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import line_text, numbered_lines
from philly_analysis.ingest.telemetry.clock import Clock
from philly_analysis.ingest.telemetry.labels import BLANK, DMON
from philly_analysis.ingest.telemetry.names import Named
from philly_analysis.ingest.telemetry.readings import Series, Stage, is_time, number

HEADER = re.compile(r"(?P<before>.*?)#\s?Entity\b(?P<names>.*)")
"""The line that names the columns; a time may stand before it, as before the others."""

_DIGIT = re.compile(r"\d")
_ROW = re.compile(r"(?P<before>.*?)\b(?P<entity>GPU(?:-I|-CI)?) +(?P<id>\d{1,9})\s(?P<values>.*)")
_UNITS = re.compile(r"\bID\b")
"""What stands, without a number after it, in the line below the names."""


def read_dmon(clock: Clock, path: Path, named: Named, stage: Stage) -> None:
    """Stage the readings of a table: each row is one of a GPU.

    A row's time stands before it (as ``| ts '%Y-%m-%dT%H:%M:%S%z'`` writes it), or follows from
    the file's name: its moment is that of the first rows, and its step, the delay given to dmon,
    the time from one row of a GPU to the next.

    Raises
    ------
    InputError
        Neither is there, or it was cut off.
    """
    names: list[str] = []
    series: dict[int, Series] = {}
    rows, seen = 0, set[int]()
    for place, line in numbered_lines(path):
        text = line_text(line)
        if header := HEADER.fullmatch(text):
            names = header["names"].split()
            continue
        found = _ROW.fullmatch(text)
        if not found:
            if text.strip() and not _UNITS.search(_DIGIT.split(text)[-1]):
                stage.reject(place, "the line is no row of the table", text)
            continue
        gpu, values = int(found["id"]), found["values"].split()
        if found["entity"] != "GPU":
            stage.reject(place, "a MIG instance: the table does not tell of which GPU", text)
            continue
        before = found["before"].strip(" []|\t")
        if gpu in seen:
            rows, seen = rows + 1, set()
        seen.add(gpu)
        at_us = clock.at_us(before, of=(path, gpu)) if before else _counted(named, rows)
        if at_us is None or not is_time(at_us):
            stage.reject(place, "what stands before the row is not a time", text)
            continue
        if len(values) != len(names):
            stage.reject(place, "wrong number of columns", text)
            continue
        if gpu not in series:
            series[gpu] = Series(named.hosts, gpu, step_us=named.step_us)
        try:
            told = {
                DMON[name][0]: _read(value, DMON[name][1])
                for name, value in zip(names, values, strict=True)
                if name in DMON
            }
        except ValueError:
            stage.reject(place, "a value is not a number", text)
            continue
        stage.add(place, series[gpu], at_us, told)


def _read(text: str, factor: float) -> float | None:
    value = number(text)
    return None if value is None or value >= BLANK else value * factor


def _counted(named: Named, rows: int) -> int:
    if named.at_us is None or named.step_us is None:
        raise InputError(
            "its rows have no time. Name it after host, first moment and delay, as "
            "gpu01_2026-01-31T12-00-00_10s.txt, or print the time before each row: "
            "dcgmi dmon … | ts '%Y-%m-%dT%H:%M:%S%z'"
        )
    return named.at_us + rows * named.step_us
