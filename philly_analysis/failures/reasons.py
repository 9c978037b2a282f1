"""The study's reasons of failure and the tiers that each belongs to (ATC'19, Table 7)."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from philly_analysis.study import Tier

NO_SIGNATURE = "No signature"


@dataclass(frozen=True, slots=True)
class Reason:
    """A category of the study: its printed name, its tiers, and its meaning."""

    name: str
    tiers: tuple[Tier, ...]
    meaning: str


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
REASONS = tuple(Reason(name, tuple(of["tiers"]), of["meaning"]) for name, of in _TABLE.items())
_BY_NAME = {reason.name: reason for reason in REASONS}


def tiers_of(reason: str) -> tuple[Tier, ...]:
    """Return the tiers of a reason; none for *No signature*."""
    return _BY_NAME[reason].tiers
