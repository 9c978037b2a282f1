"""Map reasons and fine labels to the categories of other studies, as printed there."""

import tomllib
from pathlib import Path
from typing import Any

TAXONOMIES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
"""Source of each study, and the study's categories by fine label and by reason."""


def categories_of(reason: str, fine: str) -> dict[str, str]:
    """Return the category of a failure in each other study; "" where it has none."""
    return {
        study: of["fine"].get(fine) or of["reason"].get(reason, "")
        for study, of in TAXONOMIES.items()
    }
