"""Check frames of one's own: renamed columns, words of Slurm, bad rows, name and mark."""

from datetime import datetime

import pandas as pd
import pytest

from philly_analysis import Trace
from philly_analysis.errors import TraceError, UnknownNameError


def at(minute: int) -> datetime:
    return datetime(2024, 1, 1, 0, minute)


FRAME = pd.DataFrame(
    {
        "job": ["a", "b", "c", "d", "e", "e"],
        "submit": [at(0), at(1), None, at(3), at(4), at(5)],
        "start": [at(1), at(2), at(3), at(9), at(5), at(6)],
        "end": [at(5), at(6), at(7), at(8), at(9), at(9)],
        "gpus": [1, 2, 1, 1, 4, 4],
        "state": ["COMPLETED", "CANCELLED by 1001", "FAILED", "FAILED", "odd", "TIMEOUT"],
        "partition": "p",
    }
)
COLUMNS = {"job": "job_id", "submit": "submitted_at", "start": "started_at", "end": "ended_at"}


def test_a_frame_of_ones_own_columns_and_words() -> None:
    columns = COLUMNS | {"state": "status"}
    with Trace(FRAME, columns=columns, name="mine", synthetic=True) as trace:
        jobs = trace.jobs.df().set_index("job_id").sort_index()
        notes = " ".join(trace.manifest.notes)
        assert trace.manifest.name == "mine" and trace.manifest.synthetic
    # c has no submission, d ends before its start, and the second e repeats
    assert list(jobs.index) == ["a", "b", "e"]
    assert jobs["status"].fillna("").to_dict() == {"a": "Pass", "b": "Killed", "e": ""}
    assert "3 of 6 rows of the frame are rejected" in notes
    for why in ("no submission", "an end before the start", "the identifier of another row"):
        assert f"1 with {why}" in notes
    assert "odd (1)" in notes and "that no table has: partition. They" in notes


def test_words_that_are_given_precede_those_of_slurm() -> None:
    columns = COLUMNS | {"state": "status"}
    with Trace(FRAME, columns=columns, status={"odd": "Failed", "COMPLETED": "Killed"}) as trace:
        jobs = trace.jobs.df().set_index("job_id")["status"]
        assert trace.manifest.name == "frames" and not trace.manifest.synthetic
    assert jobs["e"] == "Failed" and jobs["a"] == "Killed"


def test_unknown_columns_raise() -> None:
    with pytest.raises(TraceError, match="columns= has begin, but the frame job, submit"):
        Trace(FRAME, columns={"begin": "started_at"})
    with pytest.raises(UnknownNameError, match="no column of jobs or attempts named"):
        Trace(FRAME, columns={"start": "begun_at"})
    with pytest.raises(TraceError, match="describe tables in memory"):
        Trace("folder", name="mine")


def test_texts_are_read_and_bad_ones_are_rejected_and_counted() -> None:
    frame = pd.DataFrame(
        {
            "job_id": [1, 2, 3, 4, 5],
            "gpus": ["1", "two", "2.5", "8", None],
            "submitted_at": [
                "2024-01-01 00:00:00",
                "2024-01-01",
                "2024-01-01",
                "soon",
                "2024-01-02",
            ],
            "status": ["passed", "killed", "FAILED", "pass", "Pass"],
        }
    )
    with Trace(frame) as trace:
        jobs = trace.jobs.df().sort_values("job_id")
        [note] = trace.manifest.notes
    assert jobs["job_id"].tolist() == ["1", "5"] and jobs["gpus"].tolist()[0] == 1
    assert jobs["status"].tolist() == ["Pass", "Pass"]
    assert "3 of 5 rows" in note and "1 with GPUs that are no whole number" in note
    assert "1 with gpus that is no number" in note and "1 with submitted_at that is no time" in note


def test_numbers_in_the_place_of_times_raise() -> None:
    with pytest.raises(TraceError, match=r"submitted_at has numbers, not times\. Convert seconds"):
        Trace(pd.DataFrame({"gpus": [1], "submitted_at": [1_700_000_000]}))
