"""Check that every row is accounted for, in any mix of valid and invalid rows."""

import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import ingest
from philly_analysis.ingest import csv_file
from philly_analysis.ingest.samples import hourly_partitions, loading
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import account, attempt, job, write_archive
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
            manifest = ingest("philly", raw, folder / "trace").manifest
        counted = account(manifest, "gpu_samples")
        blank = sum(kind == "blank" for kind, _, _ in given_rows)
        assert (counted.read, counted.kept) == (len(lines) - blank, len(first))
        with Trace(folder / "trace") as trace:
            rejects = trace.sql("select source_line, raw from rejects order by all").fetchall()
            assert rejects == [(n, lines[n - 2]) for n in rejected]
            assert not first or trace.answer("gpu_samples").pl().height == len(first)


host_rows = st.lists(
    st.tuples(st.integers(3, 9), st.integers(0, 2), st.sampled_from(["m1", "m2", "m3"])),
    max_size=30,
)


@pytest.mark.slow
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
        row: tuple(rows.index(row) if row in rows else None for rows in (cpu, mem))
        for row in {*cpu, *mem}
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = write_archive(folder / "raw", [job("j")], **files)
        with (
            patch.multiple(hourly_partitions, _FILE_ROWS=file_rows, _WRITING_ROWS=file_rows),
            patch.object(hourly_partitions, "_WAITING_ROWS", waiting_rows),
            patch.object(csv_file, "_BLOCK_BYTES", block_bytes),
            patch.object(loading, "_REJECTED_LINES", 3),
        ):
            manifest = ingest("philly", raw, folder / "trace").manifest
            if grows:  # the same rows again, in files that differ
                more = {name: ["", *texts] for name, texts in files.items()}
                more_raw = write_archive(folder / "more", [job("k")], **more)
                manifest = ingest("philly", more_raw, folder / "trace", append=True).manifest
        if not expected:
            assert sum(a.read for a in manifest.accounts if a.table == "host_samples") == 0
            return
        counted = account(manifest, "host_samples")
        assert counted.read == (len(cpu) + len(mem)) * (1 + grows)
        assert counted.kept == len({*cpu}) + len({*mem})
        with Trace(folder / "trace") as trace:
            kept = trace.sql(
                "select extract(day from sampled_at), extract(minute from sampled_at), "
                "machine_id, cpu_pct, ((mem_gb - mem_used_gb) * 1048576)::integer from host_samples"
            ).fetchall()
        assert len(kept) == len(expected)
        assert {row[:3]: row[3:] for row in kept} == expected
