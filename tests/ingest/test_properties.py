"""Check that every row is accounted for, in any mix of valid and invalid rows."""

import tempfile
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import ingest
from philly_analysis.errors import InputError
from philly_analysis.ingest import csv_file
from philly_analysis.ingest.samples import hourly_partitions, loading
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import attempt, job, write_archive
from tests.support.strategies import one_in

TIMES = ("2017-11-05 01:59:00 PDT", "2017-11-05 01:59:00 PST", "2017-10-03 00:00:00 PDT")
LINES = {
    "eight values": "{time},{machine},1,2,3,4,5,6,7,8,",
    "sixteen values": "{time},{machine},1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,",
    "off": "{time},{machine},NA,NA,NA,NA,NA,NA,NA,NA,",
    "short": "{time},{machine},1,2,",
    "nine": "{time},{machine},1,2,3,4,5,6,7,8,9,",
    "text": "{time},{machine},1,2,three,4,5,6,7,8,",
    "range": "{time},{machine},1,2,300,4,5,6,7,8,",
    "clock": "{time} or so,{machine},1,2,3,4,5,6,7,8,",
    "nobody": "{time},,1,2,3,4,5,6,7,8,",
    "blank": "",
}
GOOD = ("eight values", "sixteen values", "off")

rows = st.tuples(
    st.sampled_from(sorted(LINES)), st.sampled_from(TIMES), st.sampled_from(["m1", "m2"])
)


@one_in(3)
@given(st.lists(rows, min_size=1, max_size=40), st.sampled_from([50, 1 << 20]))
def test_each_utilisation_line_is_kept_or_rejected_on_its_line(
    given_rows: list[tuple[str, str, str]], block_bytes: int
) -> None:
    lines = [LINES[kind].format(time=time, machine=m) for kind, time, m in given_rows]
    first: dict[tuple[str, str], int] = {}
    rejected = []
    for number, (kind, time, machine) in enumerate(given_rows, 2):
        if kind in GOOD and (time, machine) not in first:
            first[time, machine] = number
        elif kind != "blank":
            rejected.append(number)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = write_archive(
            folder / "raw", [job("j", [attempt(m1=8, m2=8)])], cluster_gpu_util=lines
        )
        with patch.object(csv_file, "_BLOCK_BYTES", block_bytes):
            manifest = ingest("philly", raw, folder / "trace")
        [account] = [a for a in manifest.accounts if a.table == "gpu_samples"]
        blank = sum(kind == "blank" for kind, _, _ in given_rows)
        assert (account.read, account.kept) == (len(lines) - blank, len(first))
        with Trace(folder / "trace") as trace:
            found = trace.sql(
                "select source_line, raw from rejects order by source_line"
            ).fetchall()
            assert found == [(n, lines[n - 2]) for n in rejected]
            if first:
                [(kept,)] = trace.sql("select count(*) from gpu_samples").fetchall()
                assert kept == len(first)


host_rows = st.lists(
    st.tuples(st.integers(3, 9), st.integers(0, 2), st.sampled_from(["m1", "m2", "m3"])),
    max_size=30,
)


@one_in(4)
@given(
    host_rows,
    host_rows,
    st.booleans(),
    st.sampled_from([1, 4, 1_000_000]),
    st.sampled_from([40, 200, 1 << 23]),
    st.sampled_from([3, 1_000_000]),
    st.booleans(),
)
def test_host_files_in_any_order_are_joined_and_repeats_left_out(
    cpu: list[tuple[int, int, str]],
    mem: list[tuple[int, int, str]],
    timely: bool,
    file_rows: int,
    block_bytes: int,
    waiting_rows: int,
    grows: bool,
) -> None:
    if timely:
        cpu, mem = sorted(cpu), sorted(mem, key=lambda row: row[:2])

    def lines(rows: list[tuple[int, int, str]], rest: str) -> list[str]:
        times = (
            f"2017-10-{day:02} {minute % 3:02}:{minute:02}:00 PDT,{m}" for day, minute, m in rows
        )
        return [f"{time},{rest.format(i)}" for i, time in enumerate(times)]

    files = {
        "cluster_cpu_util": lines(cpu, "{}"),
        "cluster_mem_util": lines(mem, "1048576,{}"),
    }
    expected = {
        (day + 0.0, minute + 0.0, m): (
            cpu.index((day, minute, m)) if (day, minute, m) in cpu else None,
            mem.index((day, minute, m)) if (day, minute, m) in mem else None,
        )
        for day, minute, m in {*cpu, *mem}
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = write_archive(folder / "raw", [job("j")], **files)
        with (
            patch.multiple(
                hourly_partitions,
                _FILE_ROWS=file_rows,
                _WRITING_ROWS=file_rows,
                _WAITING_ROWS=waiting_rows,
            ),
            patch.object(csv_file, "_BLOCK_BYTES", block_bytes),
            patch.object(loading, "_REJECTED_LINES", 3),
        ):
            manifest = ingest("philly", raw, folder / "trace")
            if grows:  # the same rows again, in files that differ
                more = {name: ["", *texts] for name, texts in files.items()}
                more_raw = write_archive(folder / "more", [job("k")], **more)
                manifest = ingest("philly", more_raw, folder / "trace", append=True)
        accounts = {a.table: a for a in manifest.accounts}
        if not expected:
            assert "host_samples" not in accounts or accounts["host_samples"].read == 0
            return
        account = accounts["host_samples"]
        assert account.read == (len(cpu) + len(mem)) * (1 + grows)
        assert account.kept == len({*cpu}) + len({*mem})
        with Trace(folder / "trace") as trace:
            found = trace.sql(
                "select extract(day from sampled_at), extract(minute from sampled_at), "
                "machine_id, cpu_pct, ((mem_gb - mem_used_gb) * 1048576)::integer from host_samples"
            ).fetchall()
        assert len(found) == len(expected)
        assert {row[:3]: row[3:] for row in found} == expected


entries = st.sampled_from(
    [
        ("good", job("a", [attempt(m1=2)])),
        ("good", job("b")),
        ("wrong", 3),
        ("wrong", job("c", [attempt(m1=1)], submitted_time="never")),
        ("wrong", job("d", [attempt(m1=1)], status="Lost")),
        ("wrong", job("None", [attempt(m1=1)])),
    ]
)


@one_in(3)
@given(st.lists(entries, max_size=12))
def test_each_job_is_kept_or_rejected_by_its_number(
    given_entries: list[tuple[str, object]],
) -> None:
    seen: set[str] = set()
    wrong = []
    gpus = Counter[bool]()
    for number, (kind, entry) in enumerate(given_entries, 1):
        name = entry["jobid"] if isinstance(entry, dict) else ""
        fresh = kind == "good" and name not in seen
        if fresh:
            seen.add(name)
        else:
            wrong.append(number)
        if isinstance(entry, dict):
            for a in entry["attempts"]:
                gpus[fresh] += sum(len(d["gpus"]) for d in a["detail"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = write_archive(folder / "raw", [entry for _, entry in given_entries])
        if wrong and not seen:
            with pytest.raises(InputError, match="can be kept"):
                ingest("philly", raw, folder / "trace")
            return
        manifest = ingest("philly", raw, folder / "trace")
        accounts = {a.table: a for a in manifest.accounts}
        assert accounts["jobs"].read == len(given_entries)
        assert accounts["jobs"].kept == len(seen)
        if gpus:
            assert accounts["placements"].kept == gpus[True]
            assert accounts["placements"].read == gpus.total()
        with Trace(folder / "trace") as trace:
            found = trace.sql(
                "select source_line from rejects where \"table\" = 'jobs' order by all"
            ).fetchall()
            assert [n for (n,) in found] == wrong
