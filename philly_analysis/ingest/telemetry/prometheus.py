"""Read responses of Prometheus' HTTP API: range and instant queries, as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import json_items, nesting_errors
from philly_analysis.ingest.telemetry.labels import series_of
from philly_analysis.ingest.telemetry.metrics import BLANK, METRICS, metric_in
from philly_analysis.ingest.telemetry.staging import FROM_US, UNTIL_US, Stage, is_time

Values = npt.NDArray[np.float64]
_CONVERSION_ERRORS = (TypeError, ValueError, IndexError, KeyError, OverflowError)


def read_prometheus(stage: Stage, path: Path) -> None:
    """Stage the readings of a response, series by series.

    The result of an expression such as ``avg_over_time(…)`` lacks the name of its metric; then the
    file's name contains it.

    Raises
    ------
    InputError
        The file is no response of Prometheus, or is truncated.
    """
    with nesting_errors():
        for number, item in enumerate(json_items(path, "result"), 1):
            result = item if isinstance(item, dict) else {}
            labels = result.get("metric")
            values = result["values"] if "values" in result else [result.get("value")]
            if not isinstance(labels, dict) or not isinstance(values, list):
                stage.reject(number, "it is no series", json.dumps(item))
                continue
            metric = str(labels.get("__name__") or metric_in(path.name) or "")
            if metric in METRICS:
                _stage_series(number, metric, labels, values, stage)
            else:
                stage.ignored[metric or "without a name"] += len(values)


def _stage_series(
    number: int, metric: str, labels: Mapping[str, Any], values: list[Any], stage: Stage
) -> None:
    try:
        with np.errstate(over="ignore"):
            at_us = np.round(np.array([value[0] for value in values], np.float64) * 1e6)
        numbers = np.array([value[1] for value in values]).astype(np.float64)
        # items that are lists of one length give a matrix
        in_range = bool(np.all((at_us >= FROM_US) & (at_us < UNTIL_US)))
        valid = in_range and at_us.ndim == numbers.ndim == 1
    except _CONVERSION_ERRORS:
        valid = False
    if not valid:
        at_us, numbers = _convert_each(number, values, stage)
    measure, factor = METRICS[metric]
    series = series_of({k: str(v) for k, v in labels.items()}, stage.file_name.hosts)
    if metric.startswith("DCGM_"):
        numbers = np.where(np.isfinite(numbers) & (numbers >= BLANK), np.nan, numbers)
    stage.add_block(number, series, at_us.astype(np.int64), measure, numbers * factor)


def _convert_each(number: int, values: list[Any], stage: Stage) -> tuple[Values, Values]:
    """Convert the valid times and values, and reject invalid pairs."""
    times, numbers = [], []
    for value in values:
        try:
            at_us = round(float(value[0]) * 1e6)
            measured = float(value[1])
        except _CONVERSION_ERRORS:
            stage.reject(number, "it is no time and value", json.dumps(value))
            continue
        if is_time(at_us):
            times.append(float(at_us))
            numbers.append(measured)
        else:
            stage.reject(number, "its time is not one of 2000 to 2100", json.dumps(value))
    return np.array(times, np.float64), np.array(numbers, np.float64)


def check_response(first: str) -> None:
    """Refuse an error response.

    Raises
    ------
    InputError
        The response is an error.
    """
    if '"status":"error"' in first[:4096].replace(" ", ""):
        raise InputError(f"Prometheus answered with an error: {first[:300]}")
