"""Compare run times with a published Kaplan-Meier estimate, and check the sentence of the trend."""

import numpy as np
import pytest

from philly_analysis.analyses import run_time
from philly_analysis.trace.trace import Trace
from tests.support.clusters import MakeTrace

Row = tuple[str | int | None, ...]

# remission of 21 patients on 6-MP, in weeks (Freireich et al. 1963): a textbook example, with
# S = .857 .807 .753 .690 .627 .538 .448 at 6 7 10 13 16 22 23 weeks
_ENDED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
_RUNNING = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]


@pytest.fixture
def remission(make_trace: MakeTrace) -> Trace:
    ends_min = 1_000
    jobs: list[Row] = [(f"e{i}", "v", "u", 1, 0, "Pass") for i in range(len(_ENDED))]
    attempts: list[Row] = [(f"e{i}", 1, 0, t) for i, t in enumerate(_ENDED)]
    jobs += [(f"r{i}", "v", "u", 1, 0, None) for i in range(len(_RUNNING))]
    attempts += [(f"r{i}", 1, ends_min - t, None) for i, t in enumerate(_RUNNING)]
    # a job without GPUs marks the end of the log
    jobs.append(("last", "v", "u", 0, ends_min, None))
    return make_trace(jobs, attempts)


def test_running_jobs_count_as_longer_than_seen(remission: Trace) -> None:
    result = run_time.compute(remission)
    table = result.table.set_index("percentile")
    assert set(table["gang"]) == {"1"}
    assert table["jobs"].iloc[0] == 21 and table["censored"].iloc[0] == 12
    run_min = table["run_s"] / 60
    # smallest time whose S does not exceed 1 - p
    expected = {14: 6, 15: 7, 24: 10, 25: 13, 30: 13, 31: 16, 46: 22, 47: 23, 50: 23, 55: 23}
    assert {p: run_min[p] for p in expected} == expected
    assert table["run_s"].loc[56:].isna().all()
    assert result.fact("over_one_week_pct") == pytest.approx(44.8, abs=0.05)


@pytest.mark.parametrize(
    ("minutes_of", "said"),
    [
        ({1: 10, 8: 100}, "Larger gangs run longer"),
        ({1: 100, 8: 10}, "Larger gangs run shorter"),
        ({1: 10, 8: 10}, "Run time has no clear trend"),
    ],
)
def test_sentence_of_the_trend(
    minutes_of: dict[int, float], said: str, make_trace: MakeTrace
) -> None:
    rng = np.random.default_rng(1)
    jobs, attempts = [], []
    for i in range(200):
        gpus = int(rng.choice([1, 8]))
        jobs.append((f"j{i}", "v", f"u{i % 20}", gpus, 0, "Pass"))
        attempts.append((f"j{i}", 1, 0, minutes_of[gpus] * rng.lognormal()))
    assert run_time.compute(make_trace(jobs, attempts)).sentences[1].startswith(said)
