"""Five jobs whose exported files can be written by hand."""

from datetime import datetime, timedelta

import polars as pl

from philly_analysis.workload import Workload

ORIGIN = datetime(2017, 10, 3, 7)


def at(seconds: float) -> datetime:
    """Return the time that many seconds after the first submission."""
    return ORIGIN + timedelta(seconds=seconds)


# job  gpus  submitted  attempts (from, to)         run: sum, span, last   GPU-seconds (sum)
# a       1          0  5-605                       600                            600
# b       2         10  10-110, 200-500             400, 490, 300                  800
# c       4         20  30-4030                     4,000                       16,000
# d       8         20  30-36030                    36,000                     288,000
# e      12       1000  1100-8300                   7,200                       86,400
TINY = Workload(
    name="tiny",
    jobs=pl.DataFrame(
        {
            "job_id": ["a", "b", "c", "d", "e"],
            "vc": ["v2", "v1", "v1", "v2", "v1"],
            "user": ["ann", "bob", "ann", "cid", "bob"],
            "gpus": pl.Series([1, 2, 4, 8, 12], dtype=pl.Int32),
            "submitted_at": [at(0), at(10), at(20), at(20), at(1000)],
            "status": ["Pass", "Failed", "Killed", "Pass", "Pass"],
            "time_limit_s": [None, 900.0, None, None, None],
        }
    ),
    attempts=pl.DataFrame(
        {
            "job_id": ["a", "b", "b", "c", "d", "e"],
            "attempt": pl.Series([1, 1, 2, 1, 1, 1], dtype=pl.Int32),
            "started_at": [at(5), at(10), at(200), at(30), at(30), at(1100)],
            "ended_at": [at(605), at(110), at(500), at(4030), at(36030), at(8300)],
            "gpus": pl.Series([1, 2, 2, 4, 8, 12], dtype=pl.Int32),
        }
    ),
)
GPU_S = 600 + 800 + 16_000 + 288_000 + 86_400
SPAN_S = 1000
