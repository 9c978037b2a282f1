"""Map metrics of GPU exporters to measures with units."""

import tomllib
from pathlib import Path

_TABLES: dict[str, dict[str, tuple[str, float]]] = tomllib.loads(
    Path(__file__).with_name("metrics.toml").read_text("utf-8")
)

METRICS = _TABLES["prometheus"]
"""Measure and factor of each metric of Prometheus' exporters."""

DMON = _TABLES["dmon"]
"""Measure and factor by the short names of ``dcgmi dmon``."""

NVIDIA_SMI = _TABLES["nvidia_smi"]
"""Measure and factor by the fields of ``nvidia-smi``."""

BLANK = 0x7FFFFFF0
"""DCGM's numbers from here on are blank: no measure is as large."""


def metric_in(text: str) -> str | None:
    """Return the longest metric contained in a text, such as the name of a file."""
    return max((name for name in METRICS if name in text), key=len, default=None)
