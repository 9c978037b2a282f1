"""Reads scrapes: what an exporter prints at ``/metrics``, in Prometheus' text format."""

import math
import re
from pathlib import Path

from philly_analysis.ingest.raw_file import line_text, numbered_lines
from philly_analysis.ingest.telemetry.labels import BLANK, METRICS, series_of
from philly_analysis.ingest.telemetry.names import Named
from philly_analysis.ingest.telemetry.readings import Series, Stage, is_time

LINE = re.compile(
    r"(?P<metric>[A-Za-z_:][\w:]*)(?P<labels>\{(?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*\})?"
    r"[ \t]+(?P<value>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|Inf|inf|nan))"
    r"(?:[ \t]+(?P<at>-?\d{1,20}(?:\.\d{1,20})?))?[ \t]*"
)
"""A metric, its labels, its value, and its time where it is told."""

_LABEL = re.compile(r"([A-Za-z_]\w*)=\"((?:[^\"\\]|\\.)*)\"")
_ESCAPED = {r"\n": "\n", r"\"": '"', r"\\": "\\"}


def read_scrape(path: Path, named: Named, stage: Stage) -> None:
    """Stage the readings of one scrape, or of several that bear their times.

    A scrape has one moment: that of each line, in milliseconds since 1970 (in seconds where it is
    OpenMetrics), else that of the file's name.

    Raises
    ------
    InputError
        It was cut off.
    """
    known: dict[str, Series] = {}
    for place, line in numbered_lines(path):
        text = line_text(line)
        if not text.strip() or text.startswith("#"):
            continue
        found = LINE.fullmatch(text)
        if not found:
            stage.reject(place, "the line is no reading", text)
            continue
        metric = found["metric"]
        if metric not in METRICS:
            stage.passed_over[metric] += 1
            continue
        at_us = _at_us(found["at"], named)
        if at_us is None or not is_time(at_us):
            stage.reject(place, "neither the line nor the file's name says when", text)
            continue
        labels = found["labels"] or ""
        if labels not in known:
            told = {k: _unescaped(v) for k, v in _LABEL.findall(labels)}
            known[labels] = series_of(told, named.hosts)
        measure, factor = METRICS[metric]
        value = float(found["value"])
        if metric.startswith("DCGM_") and value >= BLANK and not math.isinf(value):
            value = math.nan
        stage.add(place, known[labels], at_us, {measure: value * factor})


def _at_us(said: str | None, named: Named) -> int | None:
    if said is None:
        return named.at_us
    at = float(said)
    # milliseconds since 1970 are beyond 1e11 from 1973 on
    return round(at * 1_000) if at > 1e11 else round(at * 1e6)


def _unescaped(text: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPED.get(found[0], found[0]), text)
