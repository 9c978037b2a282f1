"""Check what findings state where the log has no waits, no retries, or one kind of job."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from philly_analysis import Trace, analyze
from philly_analysis.results import rank_association
from philly_analysis.results.result import Result

N = 40


def jobs(**columns: Any) -> pd.DataFrame:
    """Return jobs of two gang sizes with waits, with other columns replaced."""
    submitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) * 3_600, unit="s")
    started = submitted + pd.to_timedelta(np.arange(N) * 30.0, unit="s")
    frame = pd.DataFrame(
        {
            "job_id": [f"j{i}" for i in range(N)],
            "user": np.tile(["a", "b", "c", "d"], N // 4),
            "gpus": np.tile([1, 8], N // 2),
            "submitted_at": submitted,
            "started_at": started,
            "ended_at": started + pd.to_timedelta(600.0 + np.arange(N), unit="s"),
            "status": np.tile(["Pass", "Failed"], N // 2),
        }
    )
    return frame.assign(**columns)


NAMES = (
    *("why_waits", "queueing_delay", "queueing_delay_by_group", "waits_by_day", "out_of_order"),
    *("retries", "why_failures", "failure_statuses", "job_status", "gpus_in_use"),
    *("concentration", "run_time", "run_time_by_group", "arrivals"),
)


def answers(frame: pd.DataFrame, *names: str) -> dict[str, Result]:
    """Return findings on a trace of the jobs."""
    results: Any = analyze(Trace(frame), names or NAMES)
    return dict(results)


def test_a_log_without_starts_has_one_sentence_for_waits() -> None:
    none = pd.Series([pd.NaT] * N, dtype="datetime64[us]")
    frame = jobs(started_at=none, ended_at=none, status=pd.Series([None] * N, dtype=object))
    results = answers(frame)
    for name in ("why_waits", "queueing_delay", "waits_by_day", "out_of_order"):
        [sentence] = results[name].sentences
        assert sentence == "The log has no waits: no attempt has a known submission and start."
    assert results["why_failures"].sentences == ("The log does not record how jobs ended.",)
    assert all(len(result.sentences) >= 1 for result in results.values())


def test_a_log_without_waits_or_retries_says_so() -> None:
    frame = jobs()
    frame = frame.assign(started_at=frame["submitted_at"])
    results = answers(frame, "queueing_delay", "waits_by_day", "why_waits", "retries")
    assert results["queueing_delay"].sentences == (
        f"No attempt waited: all {N} attempts started when they were submitted.",
    )
    assert results["waits_by_day"].sentences == ("No attempt waited.",)
    assert results["why_waits"].sentences == (
        f"No attempt waited: all {N} attempts started at once.",
    )
    assert results["retries"].sentences[0] == "No job has more than one recorded attempt."
    assert "constant quantity" not in str([r.sentences for r in results.values()])


def test_one_kind_of_job_has_no_trends() -> None:
    results = answers(jobs(gpus=1, status="Pass"), "queueing_delay", "retries", "run_time")
    assert results["queueing_delay"].sentences[1:] == (
        "All attempts with a known wait have one gang size.",
        "No attempt with a known wait is a retry.",
    )
    assert results["run_time"].sentences[1] == "All jobs with a known run time have one gang size."
    assert results["retries"].sentences == (
        "No job has more than one recorded attempt.",
        "No job with a known status ended unsuccessfully.",
    )


def test_a_cause_that_cannot_be_known_has_no_share() -> None:
    [result] = answers(jobs(), "why_waits").values()
    assert not any(fact.name.startswith("unknown") for fact in result.facts)
    assert result.sentences[1] == (
        "The causes cannot be determined: the log lacks placements or the list of servers."
    )
    assert "cause is not in the log" not in " ".join(result.sentences)


@pytest.mark.parametrize(
    ("x", "y", "constant"), [([1] * 9, range(9), "x"), (range(9), [2] * 9, "y")]
)
def test_an_association_names_its_constant_quantity(x: object, y: object, constant: str) -> None:
    association = rank_association(x, y)  # type: ignore[arg-type]
    assert association.constant == constant
    words = dict.fromkeys(("rises", "falls", "unclear"), "trend")
    assert association.sentence(**words, one_x="one x", one_y="one y") == f"one {constant}."
    assert rank_association([1, 1], [1, 1]).constant == ""
