"""Estimate how often a verdict is right, by the level and the role of the rule that decided."""

import tomllib
from functools import cache
from importlib.resources import files


@cache
def confidence_of(level: str, role: str) -> float:
    """Return the share of such verdicts that are right, 0 to 1, see ``confidence.toml``."""
    text = (files("philly_analysis.failures") / "confidence.toml").read_text("utf-8")
    [group] = [
        group
        for group in tomllib.loads(text)["group"]
        if group["level"] == level and (not group["roles"] or role in group["roles"])
    ]
    return float((group["right"] + 1) / (group["verdicts"] + 2))
