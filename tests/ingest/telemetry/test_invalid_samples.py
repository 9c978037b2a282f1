"""Check that invalid or unusual telemetry is counted and reported."""

import gzip
import json
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Any

import pytest

from philly_analysis.errors import InputError
from tests.ingest.telemetry.history import MIB, epoch
from tests.ingest.telemetry.made import Made, at, made
from tests.support.slow import quick_first

HEADER = "timestamp, index, uuid, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
NOON = at("01-31 12:00:00")
T = epoch(NOON)


def answer(*result: dict[str, Any]) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def series(metric: str, *values: tuple[float, str], **labels: str) -> dict[str, Any]:
    labels = {"gpu": "0", "Hostname": "m1"} | labels
    return {"metric": {"__name__": metric, **labels}, "values": values}


def smi(*lines: str) -> str:
    return HEADER + "".join(f"{line}\n" for line in lines)


def counts(ingested: Made) -> tuple[int, int, dict[str, int]]:
    account = ingested.account
    return account.read, account.kept, account.rejected


def test_lines_of_nvidia_smi_that_are_none_are_rejected_by_line(tmp_path: Path) -> None:
    text = smi(
        "2026/01/31 12:00:00.001, 0, GPU-a, 45 %, 100 MiB, 71.20 W",
        "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.",
        "2026/01/31 12:01:00.001, 0, GPU-a, [Not Supported], [N/A], ERR!",
        HEADER.strip(),
        "2026/01/31 12:02:00.001, 0, GPU-a, many %, 100 MiB, 71.20 W",
        "2026/13/31 12:02:00.001, 0, GPU-a, 1 %, 100 MiB, 71.20 W",
        "2026/01/31 12:02:00.001, 0, GPU-a, 101.5 %, 100 MiB, 71.20 W",
        "2026/01/31 12:03:00.001, 0, GPU-a, 1 %, -5 MiB, 71.20 W",
        "2026/01/31 12:04:00.001, , GPU-a, 1 %, 5 MiB, 71.20 W",
        "2026/01/31 12:04:00.001, 999999999, GPU-a, 1 %, 5 MiB, 71.20 W",
        "2026/01/31 12:04:00.001, 0, GPU-a, 100 %, 5 MiB, 0 W",
        "2026/01/31 12:05:00.001, 0, GPU",
    )
    ingested = made(tmp_path, {"m1.csv": text})
    assert [(line, why) for _, line, why in ingested.rejects()] == [
        (3, "wrong number of fields"),
        (6, "a value is not a number"),
        (7, "the timestamp is not a time of that clock"),
        (8, "its utilisation is not between 0 and 100 %"),
        (9, "its memory in use is negative, or beyond any GPU"),
        (10, "nothing says of which GPU"),
        (11, "nothing says of which GPU"),
        (13, "wrong number of fields"),
    ]
    assert counts(ingested)[:2] == (11, 3)
    late = timedelta(milliseconds=1)
    assert ingested.samples("mem_used_gb", "power_w") == {
        (NOON + late, "m1"): ([45.0], 60.0, [100 * MIB], [71.2]),
        # it was asked and did not answer
        (at("01-31 12:01:00.001"), "m1"): ([None], 60.0, None, None),
        (at("01-31 12:04:00.001"), "m1"): ([100.0], 60.0, [5 * MIB], [0.0]),
    }


@pytest.mark.slow
def test_values_of_prometheus_that_are_none_are_rejected(tmp_path: Path) -> None:
    text = answer(
        series(
            "DCGM_FI_DEV_GPU_UTIL",
            (T + 30, "20"),
            (T, "10"),  # out of order
            (T + 60, "NaN"),
            (T + 90, "+Inf"),
            (T + 120, "-1"),
            (T + 150, "12x"),
            (T + 30, "21"),
            (1e300, "5"),
            (1e308, "5"),
            (-5, "5"),
        ),
        series("DCGM_FI_DEV_GPU_UTIL", (T, "77"), UUID="x" * 100_000),
        series("DCGM_FI_DEV_GPU_UTIL", (T, "5"), gpu=""),
        series("DCGM_FI_DEV_GPU_UTIL", (T, "5"), Hostname=""),
        series("DCGM_FI_DEV_SM_CLOCK", (T, "5"), (T, "5")),
        series("DCGM_FI_DEV_GPU_UTIL", (1e300, "5"), gpu="1"),  # numbers, all of them
        {"metric": 5, "values": []},
        series("DCGM_FI_DEV_FB_USED", (T, str(2**63))),
        series("DCGM_FI_DEV_POWER_USAGE", (T, "250.5"), (T + 180, "250")),
    )
    ingested = made(tmp_path, {"prometheus.json": text})
    assert counts(ingested) == (
        18,
        5,
        {
            "another reading of this GPU at that moment": 2,
            "its utilisation is not between 0 and 100 %": 2,
            "it is no series": 1,
            "it is no time and value": 2,
            "its time is not one of 2000 to 2100": 3,
            "no utilisation of the GPU was read then": 1,
            "nothing says of which GPU": 1,
            "nothing says of which machine": 1,
        },
    )
    assert ingested.samples("mem_used_gb", "power_w") == {
        (NOON, "m1"): ([10.0], 30.0, None, [250.5]),
        (NOON + timedelta(seconds=30), "m1"): ([20.0], 30.0, None, None),
        (NOON + timedelta(seconds=60), "m1"): ([None], 30.0, None, None),
    }
    assert "DCGM_FI_DEV_SM_CLOCK (2)" in ingested.note("no table takes")


def test_scrapes_have_the_moment_of_their_names_and_labels_of_any_text(tmp_path: Path) -> None:
    label = 'pod="a\\"b},{c=\\\\",'
    files = {
        f"2026-01-31T12-0{m}-00Z.prom": (
            "# HELP x\n"
            f'DCGM_FI_DEV_GPU_UTIL{{gpu="1",{label}Hostname="m1"}} {m}\n'
            'DCGM_FI_PROF_SM_ACTIVE{gpu="1",Hostname="m1"} 0.25\n'
            "DCGM_FI_DEV_GPU_UTIL 5\n"
            "DCGM_FI_DEV_GPU_UTIL{gpu= 5\n"
            "node_load1 0.5\n"
        )
        for m in (1, 2, 4)
    }
    now = 'DCGM_FI_DEV_GPU_UTIL{gpu="1",Hostname="m1"} 5'
    # a line's own time in seconds, and in milliseconds
    files["now.prom"] = f"{now}\n{now} {T + 300:.1f}\n{now} {1000 * (T + 360):.0f}\n"
    ingested = made(tmp_path, files)
    assert ingested.samples("sm_active_pct") == {
        (at(f"01-31 12:0{m}:00"), "m1"): ([None, float(m)], 60.0, [None, 25.0]) for m in (1, 2, 4)
    } | {(at(f"01-31 12:0{m}:00"), "m1"): ([None, 5.0], 60.0, None) for m in (5, 6)}
    assert counts(ingested)[2] == {
        "neither the line nor the file's name says when": 1,
        "nothing says of which machine": 3,
        "the line is no reading": 3,
    }


BLANK = 2_147_483_632  # DCGM_INT32_BLANK; the blanks of other types and reasons are larger
_SCRAPE = 'DCGM_FI_DEV_{}{{gpu="0",Hostname="m1"}} {}\n'


@pytest.mark.parametrize(
    "files",
    quick_first(
        [
            {
                f"2026-01-31T12-0{m}-00Z.prom": "".join(
                    _SCRAPE.format(*of) for of in (("GPU_UTIL", BLANK), ("FB_USED", 1))
                )
                for m in (1, 2)
            },
            {
                "prometheus.json": answer(
                    *(
                        series(f"DCGM_FI_DEV_{name}", (T + 60, value), (T + 120, value))
                        for name, value in (("GPU_UTIL", str(BLANK)), ("FB_USED", "1"))
                    )
                )
            },
            {
                "m1_2026-01-31T13-01-00_60s.txt": "#Entity GPUTL FBUSD\nID\n"
                + f"GPU 0 {BLANK} 1\n" * 2
            },
        ]
    ),
    ids=["scrapes", "prometheus", "dmon"],
)
def test_the_least_blank_number_of_dcgm_is_no_reading(
    tmp_path: Path, files: dict[str, str]
) -> None:
    ingested = made(tmp_path, files, "Europe/Berlin")
    assert counts(ingested)[2] == {}
    assert ingested.samples("mem_used_gb") == {
        (at(f"01-31 12:0{m}:00"), "m1"): ([None], 60.0, [MIB]) for m in (1, 2)
    }


def test_files_that_are_none_are_told_and_the_others_read(tmp_path: Path) -> None:
    good = smi("2026/01/31 12:00:00.001, 0, GPU-a, 45 %, 100 MiB, 71.20 W")
    whole = answer(*(series("DCGM_FI_DEV_GPU_UTIL", (T + 60, "20"), Hostname=h) for h in "abc"))
    packed = gzip.compress(good.encode() * 9_999)
    files: dict[str, str | bytes] = {
        "m1.csv": good,
        "cut.json": whole[:-60],
        "cut.csv.gz": packed[: len(packed) // 2],
        "error.json": '{"status":"error","errorType":"bad_data","error":"no"}',
        "rows.txt": "#Entity   GPUTL\nID\nGPU 0     5\n",
        "notes.txt": "hello\n",
        "empty.csv": "",
        "deep.json": '{"result":[' + "[" * 99_999,
        "noindex.csv": "timestamp, utilization.gpu [%]\n2026/01/31 12:00:00.001, 4 %\n",
        "binary": bytes(range(256)) * 9,
    }
    ingested = made(tmp_path, files)
    refused = sorted(name for name, line, _ in ingested.rejects() if line is None)
    assert refused == sorted(files.keys() - {"m1.csv"})
    assert "ts '%Y" in ingested.note("rows.txt")
    assert "with an error" in ingested.note("error.json")
    assert "lacks index" in ingested.note("noindex.csv")
    # of what was cut off, what came before is kept
    machines = {machine for _, machine in ingested.samples()}
    assert machines == {"m1", "a", "b", "cut"}


@pytest.mark.parametrize(
    ("files", "message"),
    quick_first(
        [
            ({"notes.txt": "hello"}, "is no telemetry"),
            ({"a.json": answer()}, "no utilisation of a GPU"),
            (
                {"a.json": answer(series("DCGM_FI_DEV_FB_USED", (T, "5")))},
                "no utilisation of the GPU",
            ),
            ({"a.json": '{"status":"success"}'}, "no list named result"),
            ({".hidden": "x"}, "no telemetry at"),
        ]
    ),
)
def test_nothing_that_tells_utilisation_is_an_error(
    files: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        made(tmp_path, files)


@pytest.mark.parametrize("clock", ["Mars", "Europe"])  # the second is a folder of zones
def test_there_is_no_such_clock(clock: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no time zone is named '{clock}'"):
        made(tmp_path, {"m1.csv": HEADER}, clock)


def test_the_hour_that_autumn_brings_twice_is_told_by_its_order(tmp_path: Path) -> None:
    clocks = ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00"]
    text = smi(
        *(f"2026/10/25 {c}:00.000, 0, GPU-a, {i} %, 1 MiB, 1 W" for i, c in enumerate(clocks))
    )
    spring = smi("2026/03/29 02:30:00.000, 0, GPU-a, 1 %, 1 MiB, 1 W")
    ingested = made(tmp_path, {"m1.csv": text, "m2.csv": spring}, "Europe/Berlin")
    first = at("10-24 23:30:00")
    assert ingested.samples() == {
        (first + i * timedelta(minutes=30), "m1"): ([float(i)], 1800.0) for i in range(6)
    }
    assert counts(ingested)[2] == {"the timestamp is not a time of that clock": 1}
    assert "without a zone are read as Europe/Berlin" in ingested.note("telemetry clock")


@pytest.mark.slow
def test_times_with_a_zone_need_no_clock(tmp_path: Path) -> None:
    ingested = made(
        tmp_path, {"m1.csv": smi("2026-01-31T17:30:00+05:30, 0, a, 1 %, 1 MiB, 1 W")}, "Asia/Tokyo"
    )
    assert [at for at, _ in ingested.samples()] == [NOON]
    assert not [note for note in ingested.builder.notes if "telemetry clock" in note]


@pytest.mark.slow
def test_rows_of_dmon_are_counted_from_the_files_name(tmp_path: Path) -> None:
    text = (
        "#Entity   GPUTL   FBUSD   GRACT  POWER\nID                 W\n"
        "GPU 0     5       100     0.5    61.5\nGPU 1     6       N/A     0.5    62\n"
        "GPU-I 0   N/A     100     0.5    N/A\n"
        "GPU 0     7       100     0.5    61.5\n"
        "#Entity   GPUTL   FBUSD   GRACT  POWER\nID                 W\n"
        "GPU 1     8       100     0.5    62\nGPU 0     9       many    0.5    61.5\n"
        "Error: something\nGPU 0     9\n"
    )
    ingested = made(tmp_path, {"m1_2026-01-31T13-00-00_10s.txt": text}, "Europe/Berlin")
    assert ingested.samples("power_w") == {
        (NOON, "m1"): ([5.0, 6.0], 10.0, [61.5, 62.0]),
        (NOON + timedelta(seconds=10), "m1"): ([7.0, 8.0], 10.0, [61.5, 62.0]),
    }
    assert [(line, why) for _, line, why in ingested.rejects()] == [
        (5, "a MIG instance: the table does not tell of which GPU"),
        (10, "a value is not a number"),
        (11, "the line is no row of the table"),
        (12, "wrong number of columns"),
    ]


@pytest.mark.slow
def test_of_two_files_with_the_same_readings_the_longer_interval_counts(tmp_path: Path) -> None:
    files = {
        "m1_2026-01-31T12-00-00_10s.txt": "#Entity GPUTL\nID\nGPU 0 10\nGPU 0 11\n",
        "m1_2026-01-31T12-00-00_20s.txt": "#Entity GPUTL\nID\nGPU 0 20\nGPU 0 21\n",
    }
    ingested = made(tmp_path, files)
    later = NOON + timedelta(seconds=20)
    assert ingested.samples() == {(NOON, "m1"): ([10.0], 20.0), (later, "m1"): ([21.0], 20.0)}
    assert counts(ingested)[2] == {"another reading of this GPU at that moment": 2}


def test_the_unit_of_each_exporter_is_its_own(tmp_path: Path) -> None:
    told = {
        "nvidia_gpu_duty_cycle": "50",
        "nvidia_gpu_memory_used_bytes": "2e9",
        "nvidia_gpu_memory_total_bytes": "40e9",
        "nvidia_gpu_power_usage_milliwatts": "61500",
        "DCGM_FI_PROF_SM_UTIL_RATIO": "1.004",
    }
    labels = {"gpu": "", "Hostname": "", "minor_number": "0", "instance": "m1:9445"}
    second = labels | {"minor_number": "1"}
    # a device's memory is the largest of its readings, in one hour or in several
    smaller = [(T + 60, "39e9"), (T + 3600, "38e9")]
    text = answer(
        *(series(name, (T, value), **labels) for name, value in told.items()),
        series("nvidia_gpu_memory_total_bytes", *smaller, **labels),
        series("nvidia_gpu_memory_total_bytes", (T, "24e9"), **second),
        series("nvidia_gpu_duty_cycle", (T, "60"), **second),
    )
    # an expression has lost the name of its metric
    unnamed = answer({"metric": {"node": "m2", "gpu": "0"}, "values": [[T, "0.25"]]})
    files = {"all.json": text, "nvidia_smi_utilization_gpu_ratio.json": unnamed}
    ingested = made(tmp_path, files)
    assert ingested.samples("mem_used_gb", "power_w", "sm_active_pct") == {
        (NOON, "m1"): ([50.0, 60.0], None, [2.0, None], [61.5, None], [100.0, None]),
        (NOON, "m2"): ([25.0], None, None, None, None),
    }
    memory = ingested.rows("select machine_id, mem_gb from devices order by all")
    assert memory == [("m1", 24.0), ("m1", 40.0), ("m2", None)]
    machines = ingested.rows("select machine_id, gpu_mem_gb from machines order by all")
    assert machines == [("m1", 40.0), ("m2", None)]


@pytest.mark.slow
def test_gpus_that_are_read_one_after_the_other_make_one_sample(tmp_path: Path) -> None:
    # a process for each GPU, none in step with another
    values = {g: [(T + 15 * i + 4 * g, str(10 * g + i % 7)) for i in range(40)] for g in range(4)}
    # memory more often than utilisation, from whose readings alone the interval is known
    memory = [(T + 15 * i + s, str(i + s)) for i in range(40) for s in (2, 5, 9)]
    text = answer(
        *(series("DCGM_FI_DEV_GPU_UTIL", *v, gpu=str(g)) for g, v in values.items()),
        series("DCGM_FI_DEV_FB_USED", *memory),
        # here memory is only read before any utilisation, and long after it
        series("DCGM_FI_DEV_GPU_UTIL", *values[0], Hostname="m2"),
        series("DCGM_FI_DEV_FB_USED", (T - 5, "1"), *memory[2::3], Hostname="m2"),
    )
    ingested = made(tmp_path, {"a.json": text})
    assert ingested.samples("mem_used_gb") == {
        (NOON + timedelta(seconds=15 * i), "m1"): (
            [10.0 * g + i % 7 for g in range(4)],
            15.0,
            [pytest.approx((i + 2) * MIB), None, None, None],
        )
        for i in range(40)
    } | {
        (NOON + timedelta(seconds=15 * i), "m2"): (
            [i % 7],
            15.0,
            [pytest.approx((i + 9) * MIB)],
        )
        for i in range(40)
    }


@pytest.mark.slow
def test_the_usual_interval_is_that_of_the_day_the_machine_or_all(tmp_path: Path) -> None:
    """A day has one from 20 gaps on, and a machine from 5 on; the last reading has the usual.

    A reading holds until the next if that is at most half an interval late; an hour at most.
    """
    read = {
        "m1": [30 * i for i in range(21)] + [86_400 + 60 * i for i in range(30)],
        "m2": [30 * i for i in range(20)] + [86_400 + 60 * i for i in range(30)],
        "m3": [0, 10, 20, 30, 40, 50, 65, 81],
        "m4": [20 * i for i in range(5)],
        "m5": [7200 * i for i in range(7)],
    }
    gaps = {m: [b - a for a, b in pairwise(times)] for m, times in read.items()}
    every = median_low([gap for some in gaps.values() for gap in some])
    usual = {"m1": 30, "m2": median_low(gaps["m2"]), "m3": 10, "m4": every, "m5": 3600}
    assert len(set(usual.values())) == 4
    begin = T - 12 * 3600
    text = answer(
        *(
            series("DCGM_FI_DEV_GPU_UTIL", *((begin + s, "1") for s in times), Hostname=m)
            for m, times in read.items()
        )
    )
    samples = made(tmp_path, {"a.json": text}).samples()
    # in order of time, so that the last reading of the first day remains
    lasts = {m: s for (at, m), (_, s) in sorted(samples.items()) if at.day == NOON.day}
    assert lasts == usual
    late = [samples[NOON + timedelta(hours=-12, seconds=s), "m3"][1] for s in (50, 65)]
    assert late == [15, 10]


@pytest.mark.slow
def test_a_file_given_twice_adds_nothing(tmp_path: Path) -> None:
    values = [(T + 15 * i, str(i)) for i in range(10)]
    page = answer(series("DCGM_FI_DEV_GPU_UTIL", *values))
    again = answer(series("DCGM_FI_DEV_GPU_UTIL", *values[5:], prometheus_replica="b"))
    ingested = made(
        tmp_path, {"a.json": page, "b.json": again, "c.json.gz": gzip.compress(page.encode())}
    )
    assert [(u, s) for u, s in ingested.samples().values()] == [
        ([float(i)], 15.0) for i in range(10)
    ]
    assert counts(ingested) == (25, 10, {"another reading of this GPU at that moment": 15})


@pytest.mark.slow
def test_many_readings_are_put_together_some_machines_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from philly_analysis.ingest.telemetry import loading, staging

    monkeypatch.setattr(loading, "_BATCH_READINGS", 20)
    monkeypatch.setattr(staging, "_PART_ROWS", 7)
    values = [(T + 15 * i, str(i)) for i in range(10)]
    hosts = [f"m{n}" for n in range(9)]
    text = answer(*(series("DCGM_FI_DEV_GPU_UTIL", *values, Hostname=h) for h in hosts))
    ingested = made(tmp_path, {"a.json": text})
    assert ingested.samples() == {
        (NOON + timedelta(seconds=15 * i), h): ([float(i)], 15.0) for i in range(10) for h in hosts
    }
    assert counts(ingested) == (90, 90, {})
    assert len(list((tmp_path / "trace" / "gpu_samples").iterdir())) > 1
