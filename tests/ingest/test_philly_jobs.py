"""Check each irregularity of the scheduler log, in an archive of a few jobs."""

from datetime import datetime
from typing import Any

import pytest

from tests.ingest.conftest import Ingest, attempt, job
from tests.support.slow import quick_first


def test_a_plain_job(made: Ingest) -> None:
    got = made(job("j1", [attempt(m1=2)]))
    assert got.rows("select job_id, vc, user, gpus, submitted_at, status, flag from jobs") == [
        ("j1", "6214e9", "ce2f4c", 2, datetime(2017, 10, 9, 7, 1, 55), "Pass", None)
    ]
    assert got.rows("select job_id, attempt, started_at, ended_at, gpus, flag from attempts") == [
        ("j1", 1, datetime(2017, 10, 9, 7, 2), datetime(2017, 10, 9, 8, 2), 2, None)
    ]
    assert got.rows("select * exclude (gpus) from placements order by gpu") == [
        ("j1", 1, "m1", 0, 0),
        ("j1", 1, "m1", 1, 0),
    ]
    assert got.rows("select machine_id, gpus, gpus_listed from machines") == [("m1", 2, None)]
    assert got.trace.tables == {"jobs", "attempts", "placements", "machines"}
    assert not [note for note in got.manifest.notes if "flagged" in note]


@pytest.mark.slow
def test_none_as_text_is_unknown(made: Ingest) -> None:
    got = made(
        job("j1", [attempt("None", "None", m1=1)], user="None", status="None"),
        job("j2", [attempt(None, None, m1=1)], user=None),
    )
    expected = [(None, None), (None, "Pass")]
    assert got.rows("select user, status from jobs order by job_id") == expected
    assert got.rows("select distinct started_at, ended_at from attempts") == [(None, None)]


@pytest.mark.slow
def test_jobs_without_attempts_or_without_gpus_are_jobs(made: Ingest) -> None:
    got = made(job("j1"), job("j2", [{"start_time": "None", "end_time": "None", "detail": []}]))
    assert got.rows("select job_id, gpus from jobs order by job_id") == [("j1", None), ("j2", None)]
    assert got.rows("select job_id, gpus from attempts") == [("j2", None)]
    assert not got.trace.has("placements")


@pytest.mark.slow
def test_a_repeated_ip_is_one_server_in_two_containers(made: Ingest) -> None:
    held = [("m1", 0, 0), ("m2", 5, 1), ("m1", 3, 2)]
    detail = [{"ip": machine, "gpus": [f"gpu{gpu}"]} for machine, gpu, _ in held]
    got = made(job("j1", [attempt(end="None") | {"detail": detail}]))
    placements = got.rows("select machine_id, gpu, container from placements order by container")
    assert placements == held
    assert got.rows("select gpus from jobs") == [(3,)]
    assert got.rows("select machine_id, gpus from machines order by all") == [("m1", 4), ("m2", 6)]


@pytest.mark.slow
def test_the_first_attempt_says_how_large_the_gang_is(made: Ingest) -> None:
    later = attempt("2017-10-09 09:00:00", "2017-10-09 10:00:00", m1=4)
    got = made(job("j1", [attempt(m1=8), later]))
    assert got.rows("select gpus from jobs") == [(8,)]
    assert got.rows("select gpus from attempts order by attempt") == [(8,), (4,)]


@pytest.mark.slow
def test_statuses_keep_their_names(made: Ingest) -> None:
    got = made(*(job(s, status=s) for s in ("Pass", "Killed", "Failed", "Running")))
    assert got.rows("select status from jobs order by all") == [("Failed",), ("Killed",), ("Pass",)]
    [(line, reason)] = got.rejects("jobs")
    assert line == 4 and reason.startswith("status fails")


@pytest.mark.slow
def test_an_attempt_that_ends_before_it_starts_goes_with_its_gpus(made: Ingest) -> None:
    wrong = attempt("2017-10-09 09:00:00", "2017-10-09 08:59:59", m1=1)
    got = made(job("j1", [attempt(m1=1), wrong]))
    assert got.rows("select attempt from attempts") == [(1,)]
    assert got.rejects("attempts") == [(1, "it ended before it started")]
    assert got.rejects("placements") == [(1, "(job_id, attempt) is not in attempts")]
    assert got.account("placements").kept == 1


@pytest.mark.slow
def test_attempts_that_overlap_and_fake_starts_are_flagged(made: Ingest) -> None:
    got = made(
        job(
            "j1",
            [
                attempt("2017-10-09 08:00:00", "2017-10-09 12:00:00", m1=1),
                attempt("2017-10-09 09:00:00", "2017-10-09 10:00:00", m1=1),
                # the second is long over, the first is not
                attempt("2017-10-09 11:00:00", "None", m1=1),
                attempt("2017-10-09 12:00:00", "None", m1=1),
            ],
        ),
        job("j2", [attempt("2017-09-02 03:45:02", m1=1)], submitted_time="2017-08-14 20:11:00"),
    )
    assert got.rows("select job_id, attempt, flag from attempts order by all") == [
        ("j1", 1, None),
        ("j1", 2, "overlaps_previous"),
        ("j1", 3, "overlaps_previous"),
        ("j1", 4, None),
        ("j2", 1, "fake_start"),
    ]
    assert "ended: 2, flagged" in got.note("overlaps_previous")
    assert "started: 1, flagged" in got.note("fake_start")


def busy_days(first: int) -> list[dict[str, Any]]:
    """Ten jobs a day, from a day of October to the fifth."""
    days = range(first, 6)
    times = {f"f{d}-{k}": f"2017-10-{d:02} 0{k}:00:00" for d in days for k in range(10)}
    return [job(name, submitted_time=time) for name, time in times.items()]


@pytest.mark.slow
def test_survivors_of_a_longer_past_are_flagged(made: Ingest) -> None:
    early = [job(f"e{d}", submitted_time=f"2017-09-{d:02} 12:00:00") for d in range(1, 29, 3)]
    got = made(*early, *busy_days(1))
    query = "select flag, count(*), max(submitted_at) from jobs group by flag order by 2"
    assert got.rows(query) == [
        ("left_truncated", len(early), datetime(2017, 9, 28, 12)),
        (None, 50, datetime(2017, 10, 5, 9)),
    ]
    assert "2017-10-01" in got.note("left_truncated")


@pytest.mark.parametrize(
    ("first", "flag"),
    quick_first(
        [("2017-10-01 23", None), ("2017-09-26 00", None), ("2017-09-25 00", "left_truncated")]
    ),
)
def test_a_quiet_first_week_is_no_left_truncation(
    first: str, flag: str | None, made: Ingest
) -> None:
    got = made(job("j1", submitted_time=f"{first}:00:00"), *busy_days(2))
    assert got.rows("select flag from jobs where job_id = 'j1'") == [(flag,)]
    assert got.rows("select distinct flag from jobs where job_id <> 'j1'") == [(None,)]


def test_a_wrong_entry_is_rejected_by_its_number(made: Ingest) -> None:
    got = made(
        job("good", [attempt(m1=1)]),
        17,
        None,
        "text",
        ["list"],
        job("no-time", [attempt(m1=1)], submitted_time="None"),
        {"status": "Pass", "vc": "a", "jobid": "gone", "attempts": [], "user": "u"},
        job("odd-time", submitted_time="tomorrow"),
        job("number-time", submitted_time=20171009),
        job() | {"jobid": 5},
        job("odd-attempts") | {"attempts": "none"},
        job("None"),
        job("good"),
        job("good too"),
    )
    assert got.rejects("jobs") == [
        *((line, "the entry is not an object") for line in range(2, 6)),
        (6, "submitted_at is missing"),
        (7, "submitted_at is missing"),
        (8, "submitted_time is not a time like 2017-10-09 07:01:55"),
        (9, "submitted_time is not text"),
        (10, "jobid is not text"),
        (11, "attempts is not a list"),
        (12, "job_id is missing"),
        (13, "the key (job_id) repeats"),
    ]
    assert got.rows("select job_id from jobs order by all") == [("good",), ("good too",)]
    assert got.account("jobs").read == 14
    assert got.rejects("attempts") == [(6, "(job_id) is not in jobs")]


def test_wrong_attempts_and_details_are_rejected(made: Ingest) -> None:
    good = attempt(m1=1)
    got = made(
        job(
            "j1",
            [
                3,
                good | {"start_time": "soon"},
                good | {"end_time": 12},
                good
                | {
                    "detail": [
                        "m1",
                        {"gpus": ["gpu0"]},
                        {"ip": "m1", "gpus": []},
                        {"ip": "m1", "gpus": "gpu0"},
                        {"ip": "m1", "gpus": ["gpu", "gpu-1", "gpu99999999999", "GPU0", 7, "gpu1"]},
                        {"ip": "m1", "gpus": ["gpu1"]},
                    ]
                },
            ],
        )
    )
    assert got.rejects("attempts") == [
        (1, "end_time is not a time"),
        (1, "start_time is not a time"),
        (1, "the attempt is not an object"),
    ]
    assert got.rows("select attempt, machine_id, gpu from placements") == [(4, "m1", 1)]
    account = got.account("placements")
    assert account.rejected == {
        "(job_id, attempt) is not in attempts": 2,
        "a GPU name is not gpu and a number": 5,
        "gpus is not a list of names": 2,
        "ip is not text": 1,
        "the detail is not an object": 1,
        "the key (job_id, attempt, machine_id, gpu) repeats": 1,
    }
    assert account.read == 1 + sum(account.rejected.values())


@pytest.mark.slow
def test_a_job_listed_twice_counts_once(made: Ingest) -> None:
    again = [attempt(m2=1), attempt("2017-10-09 09:00:00", "None", m2=1)]
    got = made(job("j1", [attempt(m1=1)]), job("j1", again))
    assert got.rows("select job_id, gpus from jobs") == [("j1", 1)]
    assert got.rows("select attempt from attempts") == [(1,)]
    assert got.rows("select machine_id from placements") == [("m1",)]
    assert got.rejects("attempts") == [(2, "its job stands earlier in the log")] * 2


def test_text_from_logs_is_data(made: Ingest) -> None:
    hostile = "'); drop table jobs; -- <script>"
    got = made(job(hostile, [attempt(m1=1)], user=hostile, vc=hostile))
    assert got.rows("select job_id, user, vc from jobs") == [(hostile,) * 3]


@pytest.mark.slow
def test_raw_text_of_a_reject_is_shortened(made: Ingest) -> None:
    got = made(job("j1"), ["x" * 10_000])
    [(raw,)] = got.rows("select raw from rejects")
    assert len(raw) == 501 and raw.startswith('["xxx') and raw.endswith("…")
