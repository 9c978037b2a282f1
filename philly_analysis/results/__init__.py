"""What an analysis returns: tables, facts, intervals, number formats and escaping."""

from philly_analysis.results.block_bootstrap import mean_change, time_blocks
from philly_analysis.results.escaping import csv_cell, csv_text, printable, write_csv
from philly_analysis.results.facts import Comparison, Fact, Facts
from philly_analysis.results.formatting import (
    NOT_KNOWN,
    UNNAMED,
    bind_units,
    count,
    count_note,
    duration,
    gang_label,
    json_value,
    number,
    percent,
    quantity,
    reproducible,
    share,
    slug,
    unique_names,
    whole_percent,
)
from philly_analysis.results.intervals import (
    Rate,
    Share,
    clustered_share,
    dispersion,
    interval_facts,
)
from philly_analysis.results.paired_effects import (
    FEWEST_PAIRS,
    Paired,
    change_size,
    change_text,
    interval_text,
    is_clear,
    is_zero,
    mean_interval,
    paired,
    pairs_for,
)
from philly_analysis.results.rank_correlation import (
    Association,
    association_of_sums,
    rank_association,
)
from philly_analysis.results.result import Result, check_path
from philly_analysis.results.results import Results
from philly_analysis.results.saving import create_folder, save_table, save_text
from philly_analysis.results.trend import Trend, share_trend
from philly_analysis.results.verdict import NOT_RECORDED, Verdict

__all__ = ["Fact", "Facts", "Result", "Results"]
"""Names for users, which type checkers export."""
