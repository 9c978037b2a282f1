"""Lists in the Standard Workload Format (data/coverage.py)."""

import gzip
from pathlib import Path

from tests.support.scripts import coverage

LOG = """\
; Computer: an example
;   18 fields: job, submitted, wait, run time, processors, ..., user (12th)
1 500 3 60 4 -1 -1 4 900 -1 1 7 1 -1 1 -1 -1 -1
2 100 0 30 1 -1 -1 1 900 -1 1 8 1 -1 1 -1 -1 -1
3 200 0 0 2 -1 -1 2 900 -1 5 8 1 -1 1 -1 -1 -1
4 300 9 -1 2 -1 -1 2 900 -1 5 9 1 -1 1 -1 -1 -1
5 500 1 45 -1 -1 -1 8 900 -1 0 9 1 -1 1 -1 -1 -1
6 500 2 90 16 -1 -1 16 900 -1 0 9 1 -1 1 -1 -1 -1
"""


def test_jobs_with_a_run_time_are_read_by_submission(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    jobs = coverage.standard("log", path).jobs
    assert jobs["submitted_s"].tolist() == [100, 500, 500]
    assert jobs["run_s"].tolist() == [30, 60, 90]
    assert jobs["gpus"].tolist() == [1, 4, 16]
    assert jobs["user"].tolist() == ["8", "7", "9"]
    assert not jobs["censored"].any()


def test_no_two_lists_share_seeds() -> None:
    assert len(set(map(coverage.first_seed, coverage.ALL))) == len(coverage.ALL)
    assert set(coverage.SITE) == set(coverage.ALL)
