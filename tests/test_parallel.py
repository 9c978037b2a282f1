"""Work that is spread comes back in order, wherever it is done."""

import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from philly_analysis.errors import InputError
from philly_analysis.page import report
from philly_analysis.parallel import spread, workers
from tests.analyses.clusters import write_tables
from tests.analyses.samples import sampled_cluster


def test_answers_come_in_order_and_no_more_tasks_are_drawn_than_may_be_under_way() -> None:
    drawn: list[int] = []
    taken = 0

    def tasks() -> Iterator[int]:
        for i in range(40):
            drawn.append(i)
            assert len(drawn) - taken <= 4
            yield i

    with ThreadPoolExecutor(3) as threads:
        for i, answer in enumerate(spread(threads, math.factorial, tasks(), ahead=4)):
            assert answer == math.factorial(i)
            taken += 1
    assert taken == len(drawn) == 40


def test_what_goes_wrong_is_told_and_nothing_else_is_begun() -> None:
    begun = []
    late = threading.Event()

    def work(i: int) -> int:
        begun.append(i)
        if i == 1:
            raise ValueError("one")
        late.wait(5 if i == 2 else 0)
        return i

    with ThreadPoolExecutor(1) as threads:
        answers = spread(threads, work, range(10), ahead=6)
        assert next(answers) == 0
        with pytest.raises(ValueError, match="one"):
            next(answers)
        late.set()
    assert len(begun) < 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_on_this_machine(jobs: int) -> None:
    with workers(jobs) as executor:
        assert list(spread(executor, math.sqrt, [1.0, 4.0, 9.0], ahead=2)) == [1, 2, 3]
        with pytest.raises(ValueError, match=r"domain|nonnegative"):
            list(spread(executor, math.sqrt, [-1.0], ahead=2))


def test_no_workers_are_refused() -> None:
    with pytest.raises(InputError, match="0 processes"), workers(0):
        pass


@pytest.mark.slow
def test_workers_of_a_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as head,
        workers(cluster=head.scheduler_address) as executor,
    ):
        assert list(spread(executor, math.sqrt, [1.0, 4.0, 9.0], ahead=2)) == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "cluster"])
def test_a_report_is_the_same_wherever_its_samples_are_counted(where: str, tmp_path: Path) -> None:
    traces = [write_tables(tmp_path / f"{name}" / "t", sampled_cluster(3)) for name in "ab"]
    here = report(traces[0], tmp_path / "here")
    if where == "processes":
        there = report(traces[1], tmp_path / "there", jobs=2)
    else:
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as head:
            there = report(traces[1], tmp_path / "there", cluster=head.scheduler_address)
    tables = sorted(f.name for f in (here.parent / "tables").iterdir())
    assert tables == sorted(f.name for f in (there.parent / "tables").iterdir())
    assert "gpu_util.csv" in tables
    for name in tables:
        one, other = (pd.read_csv(page.parent / "tables" / name) for page in (here, there))
        # sums of many numbers may differ by a rounding error from one computation to the next
        pd.testing.assert_frame_equal(one, other, rtol=1e-12)
