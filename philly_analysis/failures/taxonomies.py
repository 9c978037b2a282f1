"""Map reasons and fine labels to the categories of other studies, as printed there."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def taxonomies() -> dict[str, dict[str, Any]]:
    """Return for each study its source, and its categories by fine label and by reason."""
    text = (files("philly_analysis.failures") / "taxonomies.toml").read_text("utf-8")
    return tomllib.loads(text)


def categories_of(reason: str, fine: str) -> dict[str, str]:
    """Return the category of a failure in each other study; "" where it has none."""
    return {
        study: of["fine"].get(fine) or of["reason"].get(reason, "")
        for study, of in taxonomies().items()
    }
