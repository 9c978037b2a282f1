"""Read the fixed sentences of findings: on their trends, and caveats that hold on every trace."""

import tomllib
from pathlib import Path
from typing import Any


def texts(file: str) -> dict[str, Any]:
    """Return the tables of a TOML file of the findings."""
    return tomllib.loads(Path(__file__).parents[1].joinpath(file).read_text("utf-8"))


TRENDS: dict[str, dict[str, str]] = texts("trends.toml")
"""Sentences by finding, and by the direction of the trend."""

CAVEATS: dict[str, list[str]] = texts("caveats.toml")
"""Caveats by finding."""
