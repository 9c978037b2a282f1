"""What the study and its notebook print, to set beside what a trace of that cluster shows.

``numbers.csv`` holds the printed numbers, each under the analysis and the fact that measures the
same thing, with where it stands, how it came to us, and why ours may differ. ``curves.csv`` holds
the curves of the archive's notebook, read off its published images (quantiles with a reading
error); they describe the notebook's own definitions. ``archive.csv`` counts the public archive,
``table4.csv`` and ``table7.csv`` are further tables of the study.

The verb of the same name stands here, and opens what it asks when it is called.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def published() -> "pd.DataFrame":
    """List the numbers that the study printed, and where.

    Returns
    -------
    pandas.DataFrame
        One row per number: analysis and fact (what measures the same thing on a trace), what,
        published, unit, source, differs (why ours may).
    """
    import pandas as pd

    from philly_analysis.published.printed import numbers

    return pd.DataFrame(
        [
            (analysis, fact, c.what, c.published, c.unit, c.source, c.reason)
            for (analysis, fact), c in numbers().items()
        ],
        columns=["analysis", "fact", "what", "published", "unit", "source", "differs"],
    )
