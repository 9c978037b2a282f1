"""Check readers of Slurm's text against the forms in the manuals of its commands."""

import pytest

from philly_analysis.slurm_text import (
    duration_s,
    expand_hosts,
    limit_amounts,
    record_fields,
    record_texts,
    table_rows,
    time_in_name,
)

HOUR = 3_600


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("g1", ["g1"]),
        ("gpu[001-003,007],login1", ["gpu001", "gpu002", "gpu003", "gpu007", "login1"]),
        ("a[1-2,07-08],b", ["a1", "a2", "a07", "a08", "b"]),
        ("r[1-2]n[08-09]", ["r1n08", "r1n09", "r2n08", "r2n09"]),
        ("g[1-", []),
        ("g[1-99999999]", []),
        ("g[1-100000]", [f"g{i}" for i in range(1, 100_001)]),
        ("g[0-100000]", []),
        ("g" * 255, ["g" * 255]),
        ("g" * 256, []),
        ("", []),
    ],
)
def test_host_lists_expand_to_hosts(text: str, hosts: list[str]) -> None:
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize(
    ("text", "printed_s", "typed_s"),
    [
        ("30", 30, 30 * 60),
        ("1:30", 90, 90),
        ("00:10:00", 600, 600),
        ("2-12", 60 * HOUR, 60 * HOUR),
        ("1-00:30", 24 * HOUR + 1_800, 24 * HOUR + 1_800),
        ("7-00:00:00", 7 * 24 * HOUR, 7 * 24 * HOUR),
        ("1-02:03:04", 26 * HOUR + 184, 26 * HOUR + 184),
        ("UNLIMITED", None, None),
        ("8h", None, None),
        ("", None, None),
    ],
)
def test_a_number_is_seconds_in_output_and_minutes_in_options(
    text: str, printed_s: int | None, typed_s: int | None
) -> None:
    assert duration_s(text) == printed_s
    assert duration_s(text, number_s=60) == typed_s


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("reservation-20260302T130000Z.txt", "2026-03-02T13:00:00Z"),
        ("reservation-20260302T130000.25Z.txt", "2026-03-02T13:00:00Z"),
        ("queue_2026-01-31T12-00-00Z.txt", "2026-01-31T12:00:00Z"),
        ("sdiag_20260131_120000", "2026-01-31T12:00:00"),
        ("sacct.txt", None),
    ],
)
def test_names_of_files_have_the_time_of_the_print(name: str, time: str | None) -> None:
    assert time_in_name(name) == time


def test_records_begin_with_their_first_field() -> None:
    lines = ["NodeName=a CPUTot=8", "   Gres=gpu:2 Comment=NodeName=x", "NodeName=b CPUTot=4"]
    records = list(record_texts(enumerate(lines, 1), "NodeName"))
    assert [number for number, _ in records] == [1, 3]
    assert [record_fields(text) for _, text in records] == [
        {"NodeName": "a", "CPUTot": "8", "Gres": "gpu:2", "Comment": "NodeName=x"},
        {"NodeName": "b", "CPUTot": "4"},
    ]
    assert record_fields("Nodes=a1 x\n  Nodes=a2") == {"Nodes": "a1"}


def test_a_table_loses_cut_lines_and_repeated_headers_only() -> None:
    lines = ["Name|Reason", "a|disk", "", "b", "Name|Reason", "c|fan | noise"]
    assert list(table_rows(lines)) == [
        {"Name": "a", "Reason": "disk"},
        {"Name": "c", "Reason": "fan "},
    ]


def test_limits_have_resources_models_and_units() -> None:
    assert limit_amounts("GrpTRES", "node=2,gres/gpu=4,gres/gpu:a100=2,mem=2T,billing=9") == [
        ("servers", None, 2.0),
        ("gpus", None, 4.0),
        ("gpus", "a100", 2.0),
        ("mem_gb", None, pytest.approx(2 * 1024**4 / 1e9)),
    ]
    [(resource, model, amount)] = limit_amounts("MaxTRESPU", "mem=1000")
    assert (resource, model) == ("mem_gb", None) and amount == pytest.approx(1.048576)
    assert limit_amounts("MaxJobsPA", "12") == [("jobs", None, 12.0)]
    assert limit_amounts("GrpTRES", "cpu:x=1,mem=big,=3,cpu=-1") == []
