"""The study's reasons of failure and the tiers that each belongs to (ATC'19, Table 7)."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from philly_analysis.study import Tier

NO_SIGNATURE = "No signature"


@dataclass(frozen=True, slots=True)
class Reason:
    """A category of the study.

    Attributes
    ----------
    name, tiers
        Printed name and tiers.
    meaning
        Meaning of the reason.
    advice, source
        Usual remedy, and the address of a page on the reason.
    """

    name: str
    tiers: tuple[Tier, ...]
    meaning: str
    advice: str
    source: str


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
REASONS = tuple(Reason(name, **of | {"tiers": tuple(of["tiers"])}) for name, of in _TABLE.items())
_BY_NAME = {reason.name: reason for reason in REASONS}


def advice_of(reason: str) -> str:
    """Return the usual remedy of a reason, with the address of a page on the reason."""
    entry = _BY_NAME[reason]
    return f"{entry.advice} ({entry.source})" if entry.source else entry.advice


def tiers_of(reason: str) -> tuple[Tier, ...]:
    """Return the tiers of a reason; none for *No signature*."""
    return _BY_NAME[reason].tiers
