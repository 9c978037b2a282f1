"""Terms of the Philly study, and the numbers that it and its followers printed."""

from philly_analysis.study.failures import StudyRow, table_7
from philly_analysis.study.follow_up_systems import published_figures
from philly_analysis.study.other_clusters import PrintedNumber, numbers_elsewhere
from philly_analysis.study.published_numbers import (
    NOTEBOOK,
    archive,
    curve,
    groups,
    largest_gap_pct,
    numbers,
    published,
)
from philly_analysis.study.terms import (
    DEMAND_BUCKETS,
    END_REASONS,
    FAILED,
    GANG_BUCKETS,
    GANGS,
    KILLED,
    LARGE_GANGS,
    LARGE_GPUS,
    LAST_END,
    PASS,
    STATUS_AFTER,
    STATUSES,
    TERM_MACROS,
    Estimates,
    Gangs,
    RunPolicy,
    Tier,
    gang_class,
)
from philly_analysis.study.utilisation import SPREADS, table_3, table_4, table_5
