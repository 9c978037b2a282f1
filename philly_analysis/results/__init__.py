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
