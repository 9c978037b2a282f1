"""Check each irregularity of the utilisation files, in an archive of a few lines."""

import random
from datetime import datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import duckdb
import polars as pl
import pytest

from philly_analysis.ingest import csv_file, philly
from philly_analysis.ingest.samples import hourly_partitions, staging
from tests.ingest.conftest import HEADERS, Ingest, attempt, job, write_archive
from tests.support.slow import quick_first

T = "2017-10-03 00:00:00 PDT"
T_UTC = datetime(2017, 10, 3, 7)
EIGHT = job("j8", [attempt(m1=8)])


def minutes(n: int, rest: str) -> list[str]:
    return [f"2017-10-03 00:{i:02}:00 PDT,{rest}" for i in range(n)]


@pytest.mark.slow
def test_the_values_of_a_line_are_those_of_eight_gpus(made: Ingest) -> None:
    values: dict[str, list[float | None]] = {
        "0.5,NA,100.0,0,1,2,3,NA": [0.5, None, 100.0, 0.0, 1.0, 2.0, 3.0, None],
        ",".join(["NA"] * 8): [None] * 8,
        # sixteen values are eight GPUs twice
        ",".join(f"{i}.5,{i}.5" for i in range(8)): [i + 0.5 for i in range(8)],
        ",".join(["NA", "NA", *"7" * 14]): [None, *[7.0] * 7],
    }
    lines = [f"2017-10-03 00:0{i}:00 PDT,m1,{line}," for i, line in enumerate(values)]
    got = made(EIGHT, cluster_gpu_util=lines)
    assert got.rows("select sampled_at, machine_id, util_pct from gpu_samples order by all") == [
        (T_UTC + timedelta(minutes=i), "m1", util) for i, util in enumerate(values.values())
    ]
    assert got.account("gpu_samples").rejected == {}


@pytest.mark.slow
def test_a_machine_has_as_many_gpus_as_values_whatever_their_number(made: Ingest) -> None:
    values = {n: [float(10 * n + i) for i in range(n)] for n in range(1, 9)}
    lines = (f"m{n},{','.join(map(str, some))},{'NA,' * (8 - n)}" for n, some in values.items())
    got = made(cluster_gpu_util=[row for line in lines for row in minutes(6, line)])
    assert got.rows("select distinct machine_id, util_pct from gpu_samples order by all") == [
        (f"m{n}", some) for n, some in values.items()
    ]


@pytest.mark.slow
def test_small_machines_that_write_each_gpu_twice(made: Ingest) -> None:
    got = made(
        job("j2", [attempt(m2=2)]),
        cluster_gpu_util=[
            *minutes(6, "m2,7,7,9,9,,,,,"),
            # never placed, but all its values come in pairs
            *minutes(6, "m4,1,1,2,2,3,3,NA,NA,"),
            # two GPUs that once differ
            *minutes(6, "m3,5,5,,,,,,,"),
            "2017-10-03 00:59:00 PDT,m3,5,6,,,,,,,",
        ],
    )
    assert got.rows("select distinct machine_id, util_pct from gpu_samples order by all") == [
        ("m2", [7.0, 9.0]),
        ("m3", [5.0, 5.0]),
        ("m3", [5.0, 6.0]),
        ("m4", [1.0, 2.0, 3.0]),
    ]
    machines = [("m2", 2), ("m3", 2), ("m4", 3)]
    assert got.rows("select machine_id, gpus from machines order by all") == machines
    assert got.note("twice").endswith("kept: 2.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("placed", "values", "expected"),
    [
        # one 4-GPU job that keeps its GPUs equally busy
        ([[0, 1, 2, 3]], "90,90,80,80,,,,,", [90.0, 90.0, 80.0, 80.0]),
        # many placements show doubling though the copies differ
        ([[i % 2] for i in range(20)], "90,91,80,81,,,,,", [90.0, 80.0]),
        # GPUs that no job used but that are off are no copies
        ([[i % 4] for i in range(40)], "1,2,3,4,NA,NA,NA,NA,", [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_placements_outweigh_values_that_come_in_pairs(
    made: Ingest, placed: list[list[int]], values: str, expected: list[float]
) -> None:
    jobs = [job(f"j{i}", [attempt(m1=gpus)]) for i, gpus in enumerate(placed)]
    got = made(*jobs, cluster_gpu_util=minutes(9, f"m1,{values}"))
    assert got.rows("select distinct util_pct from gpu_samples") == [(expected,)]


@pytest.mark.parametrize(
    ("times", "every_min", "seconds"), quick_first([(100, 5, 300.0), (99, 5, None), (100, 1, None)])
)
def test_the_length_of_readings_is_the_usual_time_between_them(
    made: Ingest, times: int, every_min: int, seconds: float | None
) -> None:
    first = datetime(2017, 10, 3)
    late = (0, *(every_min * i for i in range(1, times)), every_min * times + 1)
    stamps = [f"{first + timedelta(minutes=m)} PDT" for m in late]
    got = made(
        EIGHT,
        cluster_gpu_util=[f"{at},m1,1,2,3,4,5,6,7,8," for at in (*stamps[1:], "2017-13-03")],
        cluster_cpu_util=[f"{at},m1,9" for at in stamps[:-1]],
        cluster_mem_util=[f"{at},m1,8,4" for at in stamps[1:]],
    )
    query = "select distinct seconds from {}"
    assert got.rows(query.format("gpu_samples")) == [(seconds,)]
    # a row of either file has it
    assert got.rows(query.format("host_samples")) == [(seconds,)]


@pytest.mark.slow
def test_the_hour_that_came_twice_is_two_hours(made: Ingest) -> None:
    lines = [
        "2017-11-05 00:59:00 PDT,m1,1",
        "2017-11-05 01:30:00 PDT,m1,2",
        "2017-11-05 01:30:00 PST,m1,3",
        "2017-11-05 02:00:00 PST,m1,4",
    ]
    got = made(job(), cluster_cpu_util=lines)
    assert got.rows("select sampled_at, cpu_pct from host_samples order by all") == [
        (datetime(2017, 11, 5, 7, 59), 1.0),
        (datetime(2017, 11, 5, 8, 30), 2.0),
        (datetime(2017, 11, 5, 9, 30), 3.0),
        (datetime(2017, 11, 5, 10, 0), 4.0),
    ]


def test_cpu_and_memory_meet_in_one_row(made: Ingest) -> None:
    got = made(
        job(),
        cluster_cpu_util=[f"{T},m1,12.5", "2017-10-03 00:01:00 PDT,m1,NA"],
        cluster_mem_util=[
            "2017-10-03 00:01:00 PDT,m1,2097152,1048576",
            "2017-10-04 00:00:00 PDT,m1,NA,NA",
        ],
    )
    assert got.rows("select * from host_samples order by sampled_at") == [
        (T_UTC, "m1", 12.5, None, None, None),
        (datetime(2017, 10, 3, 7, 1), "m1", None, 1.0, 2.0, None),
        (datetime(2017, 10, 4, 7), "m1", None, None, None, None),
    ]
    account = got.account("host_samples")
    assert (account.read, account.kept) == (4, 4)


def test_a_key_that_repeats_keeps_its_first_line(made: Ingest) -> None:
    lines = [
        f"{T},m1,1,1,1,1,1,1,1,1,",
        f"{T},m2,5,5,5,5,5,5,5,5,",
        f"{T},m1,250,2,2,2,2,2,2,2,",
        f"{T},m1,2,2,2,2,2,2,2,2,",
        f"{T},m1,1,1,1,1,1,1,1,1,",
        "2017-10-03 00:01:00 PDT,m1,3,3,3,3,3,3,3,3,",
    ]
    got = made(job("j8", [attempt(m1=8, m2=8)]), cluster_gpu_util=lines)
    assert got.rows("select util_pct[1] from gpu_samples order by all") == [(1.0,), (3.0,), (5.0,)]
    rejected = [(n, reason[:7]) for n, reason in got.rejects("gpu_samples")]
    assert rejected == [(4, "util_pc"), (5, "the key"), (6, "the key")]


@pytest.mark.slow
def test_a_repeat_in_one_host_file_leaves_the_other_alone(made: Ingest) -> None:
    got = made(
        job(),
        cluster_cpu_util=[f"{T},m1,1", f"{T},m1,2", f"{T},m2,3"],
        cluster_mem_util=[f"{T},m1,2097152,1048576", f"{T},m1,2097152,0"],
    )
    assert got.rows("select machine_id, cpu_pct, mem_used_gb from host_samples order by all") == [
        ("m1", 1.0, 1.0),
        ("m2", 3.0, None),
    ]
    key = "the key (sampled_at, machine_id) repeats"
    assert got.rejects("host_samples") == [(3, key), (3, key)]
    assert got.account("host_samples").kept == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("late_min", "on_disk"),
    [
        (119, False),
        (2_000, True),
        pytest.param(0, False, marks=pytest.mark.slow),
        pytest.param(600, True, marks=pytest.mark.slow),
    ],
)
def test_only_rows_that_are_hours_late_are_written_to_disk(
    made: Ingest, monkeypatch: pytest.MonkeyPatch, late_min: int, on_disk: bool
) -> None:
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", 50)
    monkeypatch.setattr(hourly_partitions, "_FILE_ROWS", 1)
    put = Mock(side_effect=staging._Disk.put, autospec=True)
    monkeypatch.setattr(staging._Disk, "put", lambda *given: put(*given))
    noon = datetime(2017, 10, 5, 12)
    times = [noon + timedelta(minutes=i) for i in range(0, 3_000, 20)]
    times.insert(-1, times[-2] - timedelta(minutes=late_min, seconds=30))
    got = made(
        EIGHT,
        cluster_cpu_util=[f"{time} PDT,m1,{i % 100}" for i, time in enumerate(times)],
        cluster_mem_util=[f"{time} PDT,m1,1048576,0" for time in sorted(times)],
    )
    assert put.called == on_disk
    counts = got.rows("select count(*), count(cpu_pct), count(mem_gb) from host_samples")
    assert counts == [(151, 151, 151)]
    assert (got.account("host_samples").kept, got.rejects("host_samples")) == (302, [])
    assert not [*got.trace.path.glob("**/*.arrow")]


@pytest.mark.slow
def test_a_day_of_more_rows_than_a_file_is_split_by_the_hour(
    made: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", 50)
    monkeypatch.setattr(hourly_partitions, "_FILE_ROWS", 5)
    # days in UTC: 2 rows, then 2 + 2, which fit no file of the first day, and 2 of the next day,
    # which has 3 an hour too; 7 of an hour of the last
    times = ["02 08:00", "02 08:01", "02 18:00", "02 18:01", "03 08:00", "03 08:01"]
    times += ["03 23:00", "03 23:01"]
    times += [f"04 {hour:02}:{minute:02}" for hour in (8, 9, 11) for minute in range(3)]
    times += [f"05 08:{minute:02}" for minute in range(7)]
    lines = [f"2017-10-{time}:00 PDT,m1,{i}" for i, time in enumerate(times)]
    got = made(EIGHT, cluster_cpu_util=lines)
    files = got.rows(
        "select parse_filename(filename), count(*) from read_parquet("
        f"'{got.trace.path}/host_samples/*.parquet', filename = true) group by all order by all"
    )
    assert files == [
        ("2017-10-02T15.parquet", 2),
        ("2017-10-03T01.parquet", 4),
        ("2017-10-04T06.parquet", 5),
        ("2017-10-04T16.parquet", 3),
        ("2017-10-04T18.parquet", 3),
        ("2017-10-05T15.parquet", 7),
    ]


def test_each_wrong_line_is_rejected_with_its_number_and_text(made: Ingest) -> None:
    good = "0,0,0,0,0,0,0,0,"
    lines = {
        f"{T},m1,12,": "wrong number of fields",
        f"{T},m1,{good}9,": "wrong number of fields",
        f"{T},m1,{good}{good}0,": "wrong number of fields",
        f"{T},m1,{good}{good}0,0,0,": "too many fields",
        "": None,  # a blank line is no row
        f"{T},m1,1,x9,0,0,0,0,0,0,": "v1 is not a number",
        f"{T},m1,1,-3,0,0,0,0,0,0,": "util_pct fails",
        f"{T},m1,1,100.1,0,0,0,0,0,0,": "util_pct fails",
        f"2017-10-03 00:00:00,m1,{good}": "time is not like",
        f"2017-10-03 00:00:00 GMT,m1,{good}": "time is not like",
        f"2017-13-03 00:00:00 PDT,m1,{good}": "time is not like",
        f"NA,m1,{good}": "time is not like",
        f"{T},,{good}": "machine_id is missing",
        f"{T},m1,nan,0,0,0,0,0,0,0,": "util_pct fails",
        f"{T},m1,inf,0,0,0,0,0,0,0,": "util_pct fails",
        f"2017-10-03 00:01:00 PDT,m1,{good}": None,
    }
    got = made(EIGHT, cluster_gpu_util=[*lines])
    expected = [(i, reason) for i, reason in enumerate(lines.values(), 2) if reason]
    rejects = got.rejects("gpu_samples")
    for (line, reason), (expected_line, start) in zip(rejects, expected, strict=True):
        assert line == expected_line and reason.startswith(start)
    texts = got.rows("select raw from rejects order by source_line")
    assert [t for (t,) in texts] == [line for line, reason in lines.items() if reason]
    account = got.account("gpu_samples")
    assert (account.read, account.kept) == (len(lines) - 1, 1)


@pytest.mark.slow
def test_wrong_lines_of_the_host_files(made: Ingest) -> None:
    got = made(
        job(),
        cluster_cpu_util=[
            f"{T},{rest}" for rest in ("m1", "m1,31.8 30.9", "m1,101", ",3", "m1,4,5", "m1,6")
        ],
        cluster_mem_util=[f"{T},m1,0.0,0.0", f"{T},m1,100,200", f"{T},m1,100"],
    )
    assert got.rejects("host_samples") == [
        (2, "too few fields"),
        (3, "cpu_util is not a number"),
        (4, "cpu_pct fails: cpu_pct between 0 and 100"),
        (5, "machine_id is missing"),
        (6, "too many fields"),
        (2, "mem_gb fails: mem_gb > 0"),
        (3, "mem_used_gb fails: mem_used_gb between 0 and mem_gb"),
        (4, "too few fields"),
    ]
    assert got.rows("select cpu_pct, mem_gb from host_samples") == [(6.0, None)]


@pytest.mark.slow
def test_line_ends_of_windows_and_bytes_that_are_no_text(tmp_path: Path, ingested: Ingest) -> None:
    raw = write_archive(tmp_path / "raw", [EIGHT])
    lines = [
        HEADERS["cluster_gpu_util"].encode(),
        b"2017-10-03 00:00:00 PDT,m1,1,1,1,1,1,1,1,1,",
        b"2017-10-03 00:01:00 PDT,m1,1,1,\xff\xfe,1,1,1,1,1,",
        b"2017-10-03 00:02:00 PDT,m1,12,",
        b"2017-10-03 00:03:00 PDT,m1,3,3,3,3,3,3,3,3,\r\n",
    ]
    (raw / "cluster_gpu_util").write_bytes(b"\r\n".join(lines))
    got = ingested("philly", raw)
    assert (got.account("gpu_samples").read, got.account("gpu_samples").kept) == (4, 2)
    assert [line for line, _ in got.rejects("gpu_samples")] == [3, 4]


@pytest.mark.slow
def test_machines_come_from_list_placements_and_samples(made: Ingest) -> None:
    got = made(
        job("j8", [attempt(m51=8)]),
        cluster_machine_list=["m51,2, 12GB", "m7,8, 24GB", "m8,eight, 24GB", "m9,8", "m7,2, 12GB"],
        cluster_cpu_util=[f"{T},m100,5"],
        cluster_gpu_util=[f"{T},m101,5,6,,,,,,,"],
    )
    assert got.rows("select machine_id, gpus, gpus_listed, gpu_mem_gb from machines") == [
        ("m100", 0, None, None),
        ("m101", 2, None, None),
        ("m51", 8, 2, 12.0),
        ("m7", 8, 8, 24.0),
    ]
    assert got.rejects("machines") == [
        (4, "number of GPUs is not a number"),
        (5, "not three fields"),
        (6, "the key (machine_id) repeats"),
    ]
    assert "differ from it on 1 of 2 machines" in got.note("machine list")


@pytest.mark.slow
def test_a_machine_keeps_the_gpus_of_samples_ingested_earlier(
    tmp_path: Path, ingested: Ingest
) -> None:
    for day, values in ((3, "1,2,3,4,,,,,"), (4, "5,6,,,,,,,")):
        line = f"2017-10-0{day} 00:00:00 PDT,m1,{values}"
        raw = write_archive(tmp_path / f"{day}", [job(f"j{day}")], cluster_gpu_util=[line])
        got = ingested("philly", raw, append=True)
    assert got.rows("select machine_id, gpus from machines") == [("m1", 4)]


def test_notes_say_what_the_samples_cover_and_where_they_do_not(made: Ingest) -> None:
    got = made(
        EIGHT,
        cluster_cpu_util=[f"{T},m1,1", "2017-10-03 02:30:00 PDT,m1,1"],
        cluster_gpu_util=[f"2017-10-03 0{h}:00:00 PDT,m1,1,2,3,4,5,6,7,8," for h in (0, 2, 5, 7)],
    )
    assert got.note("host_samples cover") == (
        "host_samples cover 2017-10-03 07:00 to 2017-10-03 09:30 UTC; one gap of more than "
        "an hour, 2017-10-03 07:01 to 2017-10-03 09:30."
    )
    assert got.note("gpu_samples cover").endswith(
        "UTC; 3 gaps of more than an hour, 2017-10-03 07:01 to 2017-10-03 09:00, "
        "2017-10-03 09:01 to 2017-10-03 12:00, 2017-10-03 12:01 to 2017-10-03 14:00."
    )
    assert "US Pacific" in got.note("UTC; utilisation")
    assert got.rows("select distinct mem_used_gb, mem_gb from host_samples") == [(None, None)]


@pytest.mark.slow
def test_missing_files_are_missing_tables_and_said(made: Ingest) -> None:
    got = made(job("j1", [attempt(m1=1)]), cluster_mem_util=[f"{T},m1,2,1"])
    assert got.trace.tables == {"jobs", "attempts", "placements", "machines", "host_samples"}
    assert got.note("no cluster_gpu_util") == (
        "The archive has no cluster_gpu_util, so the trace has no gpu_samples."
    )
    assert "no cpu_pct" in got.note("no cluster_cpu_util")
    assert got.rows("select cpu_pct from host_samples") == [(None,)]
    assert got.note("no cluster_machine_list")


def test_values_are_doubled_where_pairs_are_equal_or_half_of_them_is_never_used() -> None:
    """Draw servers at the boundaries of the evidence, and decide in a loop."""
    rng = random.Random(2)
    log: list[tuple[str, str, int, int]] = []
    glimpse: list[tuple[str, list[float | None]]] = []
    expected = set()
    for name in map(str, range(200)):
        gpus, attempts = rng.choice((None, 1, 2, 3, 4)), rng.choice((19, 20))
        filled, busy = rng.choice((1, 2, 4, 4, 6, 7, 8)), rng.choice((0, 4, 5))
        pairs = filled % 2 == 0 and rng.random() < 0.5
        log += [(name, "j", i, (gpus - 1) * (i > 0)) for i in range(attempts) if gpus]
        for row in range(6):
            values: list[float | None] = [float(row < busy)] * (
                filled if row < 5 else min(filled, 2)
            )
            if not pairs and row == 0:
                values[0] = 2.0 if busy else None
            glimpse.append((name, [*values, *[None] * (8 - len(values))]))
        glimpse.append((name, [1.0] * 16))
        half_used = gpus is not None and 2 * gpus == filled and attempts >= 20
        few = filled % 2 == 0 and 2 * (gpus or 0) <= filled
        doubled = few and ((pairs and busy >= 5) or half_used)
        expected.add((name, max(gpus or 0, filled // 2 if doubled else filled), doubled))
    columns = ["machine_id", "job_id", "attempt", "gpu"]
    with duckdb.connect() as con:
        con.register("log_gpus", pl.DataFrame(log, columns, orient="row"))
        con.register("gpu_glimpse", pl.DataFrame(glimpse, ["machine_id", "vals"], orient="row"))
        layout = con.sql(Path(philly.__file__).with_name("gpu_layout.sql").read_text()).fetchall()
    assert set(layout) == expected
    assert 30 < sum(doubled for *_, doubled in layout) < 170
