"""What an analysis returns: tables, facts, intervals, number formats and escaping."""

from philly_analysis.results.escaping import cell, csv_text, printable, write_csv
from philly_analysis.results.formatting import (
    NOBODY,
    NOT_KNOWN,
    count,
    duration,
    gpus,
    number,
    quantity,
    share,
    slug,
    together,
    told_apart,
)
from philly_analysis.results.intervals import (
    Paired,
    Rate,
    Share,
    clustered_share,
    dispersion,
    paired,
    rank_association,
)
from philly_analysis.results.result import Comparison, Fact, Result, Results, save_table

__all__ = [
    "NOBODY",
    "NOT_KNOWN",
    "Comparison",
    "Fact",
    "Paired",
    "Rate",
    "Result",
    "Results",
    "Share",
    "cell",
    "clustered_share",
    "count",
    "csv_text",
    "dispersion",
    "duration",
    "gpus",
    "number",
    "paired",
    "printable",
    "quantity",
    "rank_association",
    "save_table",
    "share",
    "slug",
    "together",
    "told_apart",
    "write_csv",
]
