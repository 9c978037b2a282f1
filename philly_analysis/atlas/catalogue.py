"""Read the claims: findings of the study that can be tested on any cluster, by chapter."""

import tomllib
from pathlib import Path
from typing import Any

from philly_analysis.atlas import calendar_measures, measures
from philly_analysis.atlas.claim import Claim, Margin, Published
from philly_analysis.study import numbers

_MEASURES = vars(measures) | vars(calendar_measures)


def read_claims(text: str) -> dict[str, tuple[Claim, ...]]:
    """Read claims from TOML, by chapter.

    Raises
    ------
    TypeError
        A key is unknown or missing.
    """
    chapters: dict[str, tuple[Claim, ...]] = {}
    for entry in tomllib.loads(text)["claim"]:
        chapter = entry.pop("chapter")
        chapters[chapter] = (*chapters.get(chapter, ()), _claim(**entry))
    return chapters


def _claim(
    *,
    name: str,
    measure: dict[str, Any],
    published: dict[str, Any],
    needs: list[str],
    margin: dict[str, Any] | None = None,
    **fields: Any,
) -> Claim:
    function = _MEASURES[measure.pop("function")]
    for key in ("invalid_for", "biased_by"):
        fields[key] = frozenset(fields.get(key, ()))
    return Claim(
        name=name,
        measure=function(**measure),
        published=_published(**published),
        needs=tuple(needs),
        margin=Margin(**margin) if margin else None,
        **{"relation": name} | fields,
    )


def _published(*, number: list[str] | None = None, **fields: Any) -> Published:
    """Return the study's result; `number` is the analysis and the fact of a printed number."""
    if number:
        analysis, fact = number
        printed = numbers()[analysis, fact]
        source, _, provenance = printed.source.rstrip(")").partition(" (")
        fields |= {"source": source, "obtained": provenance, "value": printed.published}
    return Published(**fields)


CHAPTERS = read_claims(Path(__file__).with_name("catalogue.toml").read_text("utf-8"))
"""Every claim, in the chapters and the order of the page."""

CLAIMS: dict[str, Claim] = {c.name: c for some in CHAPTERS.values() for c in some}
"""Every claim by name."""
