"""The study's claims, tested on many clusters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from philly_analysis.atlas.aggregates import from_aggregates
    from philly_analysis.atlas.claim import FEWEST_ROWS, Evidence, Finding, Verdict
    from philly_analysis.atlas.datasets import Dataset, known_datasets
    from philly_analysis.atlas.drawing import COLORS
    from philly_analysis.atlas.evaluation import Atlas, evaluate, in_brief
    from philly_analysis.atlas.profile import missing_data
    from philly_analysis.atlas.public_clusters import shipped_answers
    from philly_analysis.atlas.resampling import FEWEST_BLOCKS, RESAMPLES
    from philly_analysis.atlas.small_multiples import SYMBOLS, by_answers, multiples

_NAMES = {
    "aggregates": "from_aggregates",
    "claim": "FEWEST_ROWS Evidence Finding Verdict",
    "datasets": "Dataset known_datasets",
    "drawing": "COLORS",
    "evaluation": "Atlas evaluate in_brief",
    "profile": "missing_data",
    "public_clusters": "shipped_answers",
    "resampling": "FEWEST_BLOCKS RESAMPLES",
    "small_multiples": "SYMBOLS by_answers multiples",
}
"""Names by module."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Module of each name, which is imported on first use."""

if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
