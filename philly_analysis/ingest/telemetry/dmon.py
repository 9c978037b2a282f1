"""Read the output of ``dcgmi dmon``: a table whose rows have no time of their own."""

import re
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.telemetry.clock import Clock
from philly_analysis.ingest.telemetry.file_name import FileName
from philly_analysis.ingest.telemetry.metrics import BLANK, DMON
from philly_analysis.ingest.telemetry.staging import Series, Stage, is_time, scaled_number

HEADER = re.compile(r"(?P<before>.*?)#\s?Entity\b(?P<names>.*)")
"""The line that names the columns; a time may precede any line."""

_DIGIT = re.compile(r"\d")
_ROW = re.compile(r"(?P<before>.*?)\b(?P<entity>GPU(?:-I|-CI)?) +(?P<id>\d{1,9})\s(?P<values>.*)")
_UNITS = re.compile(r"\bID\b")
"""Contained, without a number after it, in the line below the names."""


def read_dmon(clock: Clock, stage: Stage, path: Path) -> None:
    """Stage the readings of a table: each row is one of a GPU.

    A row's time precedes it, as ``| ts '%Y-%m-%dT%H:%M:%S%z'`` prints it, or follows from the
    file's name: start of the first rows, and interval between the rows of a GPU.

    Raises
    ------
    InputError
        Neither is known, or the file is truncated.
    """
    names: list[str] = []
    series: dict[int, Series] = {}
    rows, seen = 0, set[int]()
    for number, text in text_lines(path):
        if header := HEADER.fullmatch(text):
            names = header["names"].split()
            continue
        match = _ROW.fullmatch(text)
        if not match:
            if text.strip() and not _UNITS.search(_DIGIT.split(text)[-1]):
                stage.reject(number, "the line is no row of the table", text)
            continue
        gpu, values = int(match["id"]), match["values"].split()
        if match["entity"] != "GPU":
            stage.reject(number, "a MIG instance: the table does not tell of which GPU", text)
            continue
        before = match["before"].strip(" []|\t")
        if gpu in seen:
            rows, seen = rows + 1, set()
        seen.add(gpu)
        at_us = clock.at_us(before, of=(path, gpu)) if before else _time_of(stage.file_name, rows)
        if at_us is None or not is_time(at_us):
            stage.reject(number, "what stands before the row is not a time", text)
            continue
        if len(values) != len(names):
            stage.reject(number, "wrong number of columns", text)
            continue
        if gpu not in series:
            series[gpu] = Series(stage.file_name.hosts, gpu, step_us=stage.file_name.step_us)
        cells = [(*DMON[n], v) for n, v in zip(names, values, strict=True) if n in DMON]
        try:
            measured = {m: scaled_number(value, factor, BLANK) for m, factor, value in cells}
        except ValueError:
            stage.reject(number, "a value is not a number", text)
            continue
        stage.add(number, series[gpu], at_us, measured)


def _time_of(file_name: FileName, rows: int) -> int:
    if file_name.at_us is None or file_name.step_us is None:
        raise InputError(
            "its rows have no time. Name it after host, start and interval, as "
            "gpu01_2026-01-31T12-00-00_10s.txt, or print the time before each row: "
            "dcgmi dmon … | ts '%Y-%m-%dT%H:%M:%S%z'"
        )
    return file_name.at_us + rows * file_name.step_us
