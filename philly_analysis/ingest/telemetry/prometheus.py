"""Reads answers of Prometheus' HTTP API: range and instant queries, as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import not_too_deep, objects
from philly_analysis.ingest.telemetry.labels import BLANK, METRICS, metric_named, series_of
from philly_analysis.ingest.telemetry.names import Named
from philly_analysis.ingest.telemetry.readings import FROM_US, UNTIL_US, Stage, is_time

Values = npt.NDArray[np.float64]


def read_prometheus(path: Path, named: Named, stage: Stage) -> None:
    """Stage the readings of an answer, series by series.

    An expression such as ``avg_over_time(…)`` has lost the name of its metric: then it is the one
    that the file is named after.

    Raises
    ------
    InputError
        It is no such answer, or was cut off.
    """
    with not_too_deep():
        _read(path, named, stage)


def _read(path: Path, named: Named, stage: Stage) -> None:
    for place, item in enumerate(objects(path, "result"), 1):
        told = item if isinstance(item, dict) else {}
        labels = told.get("metric")
        values = told["values"] if "values" in told else [told.get("value")]
        if not isinstance(labels, dict) or not isinstance(values, list):
            stage.reject(place, "it is no series", json.dumps(item))
            continue
        metric = str(labels.get("__name__") or metric_named(path.name) or "")
        if metric not in METRICS:
            stage.passed_over[metric or "without a name"] += len(values)
            continue
        _read_series(place, metric, labels, values, named, stage)


def _read_series(
    place: int,
    metric: str,
    labels: Mapping[str, Any],
    values: list[Any],
    named: Named,
    stage: Stage,
) -> None:
    try:
        with np.errstate(over="ignore"):
            read_at = np.round(np.array([value[0] for value in values], np.float64) * 1e6)
        read = np.array([value[1] for value in values]).astype(np.float64)
        # where all are lists themselves, of one length, they make a matrix
        timely = np.all((read_at >= FROM_US) & (read_at < UNTIL_US))
        sound = bool(timely) and read_at.ndim == read.ndim == 1
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        sound = False
    if not sound:
        read_at, read = _one_by_one(place, values, stage)
    measure, factor = METRICS[metric]
    series = series_of({k: str(v) for k, v in labels.items()}, named.hosts)
    stage.add_block(place, series, read_at.astype(np.int64), measure, scaled(metric, read, factor))


def _one_by_one(place: int, values: list[Any], stage: Stage) -> tuple[Values, Values]:
    """Return the times and values of those that are, and reject the others."""
    moments, numbers = [], []
    for value in values:
        try:
            at_us = round(float(value[0]) * 1e6)
            read = float(value[1])
        except (TypeError, ValueError, IndexError, KeyError, OverflowError):
            stage.reject(place, "it is no time and value", json.dumps(value))
            continue
        if is_time(at_us):
            moments.append(float(at_us))
            numbers.append(read)
        else:
            stage.reject(place, "its time is not one of 2000 to 2100", json.dumps(value))
    return np.array(moments, np.float64), np.array(numbers, np.float64)


def scaled(metric: str, values: Values, factor: float) -> Values:
    """Return values in the measure's unit; DCGM's blank numbers are none."""
    if metric.startswith("DCGM_"):
        values = np.where(np.isfinite(values) & (values >= BLANK), np.nan, values)
    return values * factor


def check_answer(first: str) -> None:
    """Refuse what the API says when it fails.

    Raises
    ------
    InputError
        It is an error.
    """
    if '"status":"error"' in first[:4096].replace(" ", ""):
        raise InputError(f"Prometheus answered with an error: {first[:300]}")
