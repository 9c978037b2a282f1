"""Read exporter scrapes in Prometheus' text format."""

import math
import re
from pathlib import Path

from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.telemetry.labels import series_of
from philly_analysis.ingest.telemetry.metrics import BLANK, METRICS
from philly_analysis.ingest.telemetry.staging import Series, Stage, is_time

LINE = re.compile(
    r"(?P<metric>[A-Za-z_:][\w:]*)(?P<labels>\{(?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*\})?"
    r"[ \t]+(?P<value>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|Inf|inf|nan))"
    r"(?:[ \t]+(?P<at>-?\d{1,20}(?:\.\d{1,20})?))?[ \t]*"
)
"""A metric, its labels, its value, and its time if any."""

_LABEL = re.compile(r"([A-Za-z_]\w*)=\"((?:[^\"\\]|\\.)*)\"")
_ESCAPED = {r"\n": "\n", r"\"": '"', r"\\": "\\"}


def read_scrape(stage: Stage, path: Path) -> None:
    """Stage the readings of one scrape, or of several scrapes with times.

    A line may state its time, in milliseconds since 1970 (OpenMetrics: seconds). Otherwise the
    time in the file's name counts.

    Raises
    ------
    InputError
        The file is truncated.
    """
    series: dict[str, Series] = {}
    for number, text in text_lines(path):
        if not text.strip() or text.startswith("#"):
            continue
        match = LINE.fullmatch(text)
        if not match:
            stage.reject(number, "the line is no reading", text)
            continue
        metric = match["metric"]
        if metric not in METRICS:
            stage.ignored[metric] += 1
            continue
        at_us = stage.file_name.at_us if match["at"] is None else _to_us(float(match["at"]))
        if at_us is None or not is_time(at_us):
            stage.reject(number, "neither the line nor the file's name says when", text)
            continue
        labels = match["labels"] or ""
        if labels not in series:
            values = {k: _unescaped(v) for k, v in _LABEL.findall(labels)}
            series[labels] = series_of(values, stage.file_name.hosts)
        measure, factor = METRICS[metric]
        value = float(match["value"])
        if metric.startswith("DCGM_") and value >= BLANK and not math.isinf(value):
            value = math.nan
        stage.add(number, series[labels], at_us, {measure: value * factor})


def _to_us(at: float) -> int:
    # milliseconds since 1970 are beyond 1e11 from 1973 on
    return round(at * 1_000) if at > 1e11 else round(at * 1e6)


def _unescaped(text: str) -> str:
    return re.sub(r"\\.", lambda match: _ESCAPED.get(match[0], match[0]), text)
