"""Compare the utilisation of each GPU of an attempt with a plain-Python reference."""

import math
from statistics import fmean

import pytest

from philly_analysis.trace.trace import Trace
from tests.truth import reference
from tests.truth.conftest import Case


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("sample", marks=pytest.mark.slow),
        pytest.param("multigpu", marks=pytest.mark.real_data),
    ],
)
def test_utilisation_of_every_held_gpu(name: str, request: pytest.FixtureRequest) -> None:
    case = request.getfixturevalue(name)
    mine = reference.read_gpu_use(case.raw)
    with Trace(case.trace) as trace:
        gpus = trace.sql(
            "select job_id, attempt, machine_id, gpu, expected_min, minutes, offline_min, "
            "idle_min, sum_pct, mean_pct from gpu_use"
        ).fetchall()
    assert len(gpus) == len(mine)
    assert sum(len(seen.values) for seen in mine.values()) > 10_000
    for *key, expected, minutes, offline, idle, total, mean in gpus:
        seen = mine[tuple(key)]
        assert (expected, minutes, offline) == (seen.expected, len(seen.values), seen.offline), key
        assert idle == seen.values.count(0), key
        assert total == pytest.approx(math.fsum(seen.values), rel=1e-9, abs=1e-9), key
        average = pytest.approx(fmean(seen.values), rel=1e-9, abs=1e-9) if seen.values else None
        assert mean == average, key


def test_placements_are_in_the_order_of_their_numbers(sample: Case) -> None:
    # sums over their readings, and what-ifs that use them, are then the same in each run
    with Trace(sample.trace) as trace:
        numbers = [n for (n,) in trace.sql("select placement from placed_gpus").fetchall()]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 10_000
