"""Estimate how often a verdict is right, by the level and the role of the rule that decided."""

import tomllib
from pathlib import Path

_GROUPS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["group"]


def confidence_of(level: str, role: str) -> float:
    """Return the share of such verdicts that are right, 0 to 1, see ``confidence.toml``."""
    [group] = [
        group
        for group in _GROUPS
        if group["level"] == level and (not group["roles"] or role in group["roles"])
    ]
    return float((group["right"] + 1) / (group["verdicts"] + 2))
