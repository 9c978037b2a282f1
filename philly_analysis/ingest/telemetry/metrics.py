"""Map metrics of GPU exporters to measures with units."""

import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text("utf-8"))


def _measures(exporter: str) -> dict[str, tuple[str, float]]:
    return {name: (measure, factor) for name, (measure, factor) in _TABLES[exporter].items()}


METRICS = _measures("prometheus")
"""Measure and factor of each metric of Prometheus' exporters."""

DMON = _measures("dmon")
"""Measure and factor by the short names of ``dcgmi dmon``."""

NVIDIA_SMI = _measures("nvidia_smi")
"""Measure and factor by the fields of ``nvidia-smi``."""

BLANK = 0x7FFFFFF0
"""DCGM's numbers from here on are blank: no measure is as large."""


def metric_in(text: str) -> str | None:
    """Return the longest metric contained in a text, such as the name of a file."""
    return max((name for name in METRICS if name in text), key=len, default=None)
