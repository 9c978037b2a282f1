"""The study's claims, tested on many clusters."""

from typing import TYPE_CHECKING

from philly_analysis.lazy_imports import lazy_imports

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

if not TYPE_CHECKING:  # type checkers would accept every name
    __getattr__, __dir__ = lazy_imports(
        __name__,
        {
            "aggregates": "from_aggregates",
            "claim": "FEWEST_ROWS Evidence Finding Verdict",
            "datasets": "Dataset known_datasets",
            "drawing": "COLORS",
            "evaluation": "Atlas evaluate in_brief",
            "profile": "missing_data",
            "public_clusters": "shipped_answers",
            "resampling": "FEWEST_BLOCKS RESAMPLES",
            "small_multiples": "SYMBOLS by_answers multiples",
        },
    )
