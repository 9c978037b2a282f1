"""Check that appends equal one ingest of all files, are atomic, and are fast."""

import itertools
import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest import build, increment, parts, raw_store, trace_builder
from philly_analysis.ingest import tables as ingest_tables
from philly_analysis.trace import writer
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.relations import relations
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import (
    account,
    assert_equal_tables,
    attempt,
    job,
    write_archive,
    write_files,
)
from tests.ingest.test_slurm_output import PRINTED
from tests.support.command_line import invoke

SERVERS = ["scontrol_show_node_o.alpha.txt", "scontrol_show_node_o.beta.txt"]


def tables(trace: Path) -> dict[str, pl.DataFrame]:
    """The rows of each table, in an order of their own."""
    with Trace(trace) as opened:
        return {name: opened.answer(name).pl().sort(pl.all()) for name in opened.tables}


def same(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    return one.keys() == other.keys() and all(one[name].equals(other[name]) for name in one)


def assert_same(grown: Path, complete: Path) -> None:
    assert_equal_tables(grown, complete)
    one, other = (Manifest.read(trace).accounts for trace in (grown, complete))
    assert {(a.table, a.read, a.kept) for a in one} == {(a.table, a.read, a.kept) for a in other}


def contents(trace: Path) -> dict[Path, bytes | None]:
    """Every file of a trace, but the one that is locked while it grows."""
    found = {f: f.read_bytes() if f.is_file() else None for f in trace.rglob("*")}
    return {f: held for f, held in found.items() if f.name != ".append.lock"}


def printed(out: Path, files: Iterable[Path]) -> Path:
    return write_files(out, {file.name: file.read_bytes() for file in files})


def grow(source: str, pages: Iterable[Path], out: Path) -> Manifest:
    for page in pages:
        manifest = ingest(source, page, out, append=True).manifest
    return manifest


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "pages"), [(0, 3), *((n, 12) for n in range(8))])
def test_recorded_windows_appended_in_any_order_equal_one_ingest(
    tmp_path: Path, seed: int, pages: int
) -> None:
    prints = [
        *sorted((PRINTED / "windows").iterdir()),
        *sorted((PRINTED / "live").iterdir()),
        *(PRINTED / f"{name}.gz" for name in ("wide_noD.txt", "sacct_D.alpha.json", *SERVERS)),
    ]
    prints.remove(PRINTED / "live" / "215109_sacct_sofar.txt.gz")  # the same as the one before it
    prints = random.Random(seed).sample(prints, pages)
    grow("slurm", prints, tmp_path / "grown")
    ingest("slurm", printed(tmp_path / "all", prints), tmp_path / "whole")
    assert_same(tmp_path / "grown", tmp_path / "whole")


def page(file: Path, rows: Sequence[str]) -> Path:
    header = "JobIDRaw|Cluster|Partition|User|State|Submit|Start|End|AllocTRES|NodeList"
    file.write_text("\n".join([header, *rows, ""]), "utf-8")
    return file


def line(
    number: int, day: int, state: str = "COMPLETED", cluster: str = "a", hours: int = 1
) -> str:
    """What sacct prints of a job of two GPUs on one of three servers."""
    submit = datetime(2026, 1, 1) + timedelta(days=day)
    start = "Unknown" if state == "PENDING" else (submit + timedelta(minutes=1)).isoformat()
    end = (submit + timedelta(hours=hours)).isoformat() if state == "COMPLETED" else "Unknown"
    held = f"gres/gpu=2|n{number % 3}"
    return f"{number}|{cluster}|p|u|{state}|{submit.isoformat()}|{start}|{end}|{held}"


@pytest.mark.slow
def test_repeated_records_of_daily_pages_are_stored_once(tmp_path: Path) -> None:
    """Each day's print shows the two before it; the records are kept once, and all counted."""
    read, out = 0, tmp_path / "t"
    for day in range(4):
        rows = [line(d, d) for d in range(max(0, day - 2), day)] + [line(day, day, "RUNNING")]
        read += len(rows)
        manifest = ingest("slurm", page(tmp_path / "sacct.txt", rows), out, append=True).manifest
    counted = account(manifest, "attempts")
    assert (counted.read, counted.kept) == (read, 4)
    assert counted.read == counted.kept + sum(counted.rejected.values())
    reasons = {"an earlier reading of a record", "the same record, printed again"}
    assert set(counted.rejected) == reasons
    [(file,)] = (manifest.files["raw/sacct"],)
    # each record as it ran and as it ended, and once more those of the last print
    assert pl.read_parquet(out / file).height <= 2 * 4 + 3
    whole = page(tmp_path / "once.txt", [*(line(d, d) for d in range(3)), line(3, 3, "RUNNING")])
    ingest("slurm", whole, tmp_path / "whole")
    assert_equal_tables(out, tmp_path / "whole", ("jobs", "attempts", "placements", "machines"))


@pytest.mark.slow
def test_an_append_writes_only_parts_with_touched_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job ends that ran before, and two are new: one of three parts of each table is written."""
    monkeypatch.setattr(parts, "PART_ROWS", 2048)
    rows = [line(n, n // 20) for n in range(1, 5000)]
    out = tmp_path / "t"
    ingest("slurm", page(tmp_path / "1.txt", [*rows, line(5000, 300, "RUNNING")]), out)
    before = Manifest.read(out).files
    ended = [line(n, 300) for n in range(5000, 5003)]
    monkeypatch.setattr(build, "fill_tables", None)  # all jobs are not derived again
    grown = ingest("slurm", page(tmp_path / "2.txt", ended), out, append=True).manifest
    for name in ("jobs", "attempts", "placements", "raw/sacct"):
        kept = set(before[name]) & set(grown.files[name])
        assert (len(before[name]), len(kept), len(grown.files[name])) == (3, 2, 3), name
    more = [line(n, n // 20) for n in range(5003, 8003)]  # more than a part
    ingest("slurm", page(tmp_path / "3.txt", more), out, append=True)
    monkeypatch.undo()
    ingest("slurm", page(tmp_path / "all.txt", [*rows, *ended, *more]), tmp_path / "w")
    assert_equal_tables(out, tmp_path / "w")


CHANGES = {
    "a second cluster": [line(9, 1, cluster="b") + "|1000"],
    "a server of two partitions": [line(3, 1).replace("|p|", "|q|") + "|1000"],
    "the name of a user who cancelled jobs": [line(9, 1).replace("|u|", "|eve|") + "|1001"],
}
"""Lines that change what is known of stored jobs."""


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_lines_that_concern_stored_jobs_change_these_jobs(tmp_path: Path, change: str) -> None:
    first = [f"{line(n, 0)}|1000" for n in range(1, 6)]
    first[0] = first[0].replace("COMPLETED", "CANCELLED by 1001")
    header = "JobIDRaw|Cluster|Partition|User|State|Submit|Start|End|AllocTRES|NodeList|UID"
    files = {"1.txt": first, "2.txt": CHANGES[change]}
    raw = write_files(tmp_path / "raw", {n: "\n".join([header, *r, ""]) for n, r in files.items()})
    grow("slurm", sorted(raw.iterdir()), tmp_path / "t")
    ingest("slurm", raw, tmp_path / "w")
    assert_same(tmp_path / "t", tmp_path / "w")


def readings(rng: random.Random, jobs: int) -> list[list[str]]:
    """What sacct prints on eight days of jobs: readings before the start, of the run, of the end.

    Some jobs are requeued, some records are steps or no records, some GPUs do not divide.
    """
    days: list[list[str]] = [[] for _ in range(8)]
    first = datetime(2026, 1, 1)
    numbered = rng.random() < 0.7
    for job_number in range(1, jobs + 1):
        user, nodes = rng.randrange(4), sorted(rng.sample(range(5), rng.choice([1, 1, 2])))
        gpus, partition = rng.choice([1, 2, 3, 4]), rng.choice("ppq")
        raw = str(job_number) if numbered or rng.random() < 0.7 else ""
        shown = f"{max(1, job_number - 1)}_{job_number}" if rng.random() < 0.1 else str(job_number)
        fixed = f"{raw}|{shown}||{partition}|u{user}|{100 + user}"
        tres = f"gres/gpu={gpus},node={len(nodes)}|n[{','.join(map(str, nodes))}]"
        submit = first + timedelta(seconds=rng.randrange(6 * 86400))
        start = submit + timedelta(minutes=rng.randrange(600))
        end = start + timedelta(hours=rng.randrange(1, 60))
        state = rng.choice(["COMPLETED", "FAILED", f"CANCELLED by {100 + rng.randrange(6)}"])
        for day, rows in enumerate(days):
            begins, ends = (first + timedelta(days=day + n) for n in (0, 1))
            if submit < ends and end >= begins - timedelta(days=1):
                times = f"{submit.isoformat()}|"
                if end < ends:
                    rows.append(
                        f"{fixed}|{state}|{times}{start.isoformat()}|{end.isoformat()}|{tres}"
                    )
                elif start < ends:
                    rows.append(f"{fixed}|RUNNING|{times}{start.isoformat()}|Unknown|{tres}")
                else:
                    rows.append(f"{fixed}|PENDING|{times}Unknown|Unknown||")
        if rng.random() < 0.1:  # it runs again
            again = end + timedelta(minutes=5)
            times = f"{end.isoformat()}|{again.isoformat()}|{(again + start_of(rng)).isoformat()}"
            days[rng.randrange(8)].append(f"{fixed}|COMPLETED|{times}|{tres}")
        if rng.random() < 0.1:
            step = f"{job_number}.batch|{job_number}.batch||||"
            days[rng.randrange(8)].append(f"{step}|COMPLETED|{submit.isoformat()}||||")
        if rng.random() < 0.05:
            days[rng.randrange(8)].append("||||||nonsense|||||")
    return days


def start_of(rng: random.Random) -> timedelta:
    """A run time of some hours."""
    return timedelta(hours=rng.randrange(1, 9))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_pages_of_readings_appended_equal_one_ingest(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    header = "JobIDRaw|JobID|Cluster|Partition|User|UID|State|Submit|Start|End|AllocTRES|NodeList"
    raw = tmp_path / "raw"
    raw.mkdir()
    printed = set[str]()
    for day, rows in enumerate(readings(rng, rng.choice([5, 40]))):
        rng.shuffle(rows)
        text = "\n".join([header, *rows, ""])
        # an append passes over a file that equals an earlier one
        if rows and rng.random() < 0.9 and text not in printed:
            printed.add(text)
            (raw / f"{day}.txt").write_text(text, "utf-8")
    if seed % 2:
        nodes = (f"NodeName=n{n} CPUTot=8 Gres=gpu:v100:4 Partitions=p" for n in range(4))
        (raw / "nodes.txt").write_text("\n".join([*nodes, ""]), "utf-8")
    grow("slurm", sorted(raw.iterdir()), tmp_path / "t")
    ingest("slurm", raw, tmp_path / "w")
    assert_same(tmp_path / "t", tmp_path / "w")
    one, other = (Manifest.read(tmp_path / name) for name in ("t", "w"))
    assert set(one.notes) == set(other.notes)


@pytest.mark.slow
def test_appending_the_same_files_again_changes_nothing(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    page(raw / "1.txt", [line(1, 0), line(2, 1)])
    ingest("auto", str(raw), tmp_path / "t", append=True)
    before = contents(tmp_path / "t")
    manifest = ingest("slurm", raw, tmp_path / "t", append=True).manifest
    assert manifest.notes[-1] == "Nothing new: raw was read before."
    assert contents(tmp_path / "t") == before
    page(raw / "2.txt", [line(2, 1), line(3, 2)])
    manifest = ingest("slurm", raw, tmp_path / "t", append=True).manifest
    assert "Files read before and passed over: 1." in manifest.notes
    assert [i.file for i in manifest.inputs] == ["1.txt", "2.txt"]
    # the second of the three jobs was printed again
    assert pl.read_parquet(tmp_path / "t" / manifest.files["raw/sacct"][0]).height == 3
    ingest("slurm", raw, tmp_path / "whole")
    assert_same(tmp_path / "t", tmp_path / "whole")


@pytest.mark.slow
def test_a_page_without_a_header_has_the_fields_of_an_earlier_page(tmp_path: Path) -> None:
    ingest("slurm", page(tmp_path / "1.txt", [line(1, 0), line(2, 0)]), tmp_path / "t")
    bare = tmp_path / "2.txt"
    bare.write_text("\n".join([line(3, 1), line(4, 1), ""]), "utf-8")
    with pytest.raises(InputError, match="fit no list of fields"):
        ingest("slurm", bare, tmp_path / "alone")
    manifest = ingest("slurm", bare, tmp_path / "t", append=True).manifest
    assert manifest.rows["jobs"] == 4
    bare.write_text("nothing of that kind\n")
    with pytest.raises(InputError, match="no output of sacct"):
        ingest("slurm", bare, tmp_path / "t", append=True)


@pytest.mark.slow
def test_failure_output_follows_its_attempt(tmp_path: Path) -> None:
    """A second cluster puts its name before job ids, an earlier submission renumbers attempts."""
    failed = [line(7, 3).replace("COMPLETED", "FAILED"), line(8, 3, "RUNNING"), line(9, 3)]
    texts = {"7": "RuntimeError: CUDA out of memory.", "8": "epoch 1", "5": "Segmentation fault"}
    logs = write_files(tmp_path / "logs", {f"{n}.out": f"{text}\n" for n, text in texts.items()})
    out = tmp_path / "t"
    ingest("slurm", page(tmp_path / "1.txt", failed), out, failures=logs, append=True)
    earlier = line(7, 2).replace("COMPLETED", "REQUEUED")
    pages = [earlier, line(1, 2, cluster="b"), line(8, 3).replace("COMPLETED", "FAILED")]
    manifest = ingest("slurm", page(tmp_path / "2.txt", pages), out, append=True).manifest
    rows = "select job_id, attempt, reason from failures order by all"
    with Trace(out) as trace:
        found = [("a:7", 2, "GPU out of memory"), ("a:8", 1, "No signature")]
        assert trace.sql(rows).fetchall() == found
    counted = account(manifest, "failures")
    assert (counted.read, counted.rejected) == (3, {"the job is unknown": 1})
    # read again once the job has ended, its output is judged again
    (logs / "8.out").write_text("Segmentation fault (core dumped)\n")
    more = page(tmp_path / "3.txt", [line(2, 4, cluster="b")])
    manifest = ingest("slurm", more, out, failures=logs, append=True).manifest
    with Trace(out) as trace:
        assert ("a:8", 1, "Invalid memory access") in trace.sql(rows).fetchall()
    counted = account(manifest, "failures")
    assert counted.read == counted.kept + sum(counted.rejected.values())


MAP = """
[jobs]
files = "jobs*.csv"
submitted_at = { column = "submit" }
gpus = { column = "gpus" }
run_s = { column = "run", unit = "s" }
"""


def table_of(folder: Path, files: dict[str, range]) -> Path:
    """A table of jobs without ids, one a day, and its map."""
    texts = {"map.toml": MAP}
    for name, days in files.items():
        rows = [f"2026-01-{day + 1:02}T00:00:00Z,{day % 4},{60 * day}" for day in days]
        texts[name] = "\n".join(["submit,gpus,run", *rows, ""])
    return write_files(folder, texts)


@pytest.mark.slow
def test_a_table_without_job_ids_can_be_appended_to(tmp_path: Path) -> None:
    files = {"jobs-a.csv": range(5), "jobs-b.csv": range(5, 10)}
    for name, days in files.items():
        ingest("table", table_of(tmp_path / name, {name: days}), tmp_path / "t", append=True)
    ingest("table", table_of(tmp_path / "all", files), tmp_path / "w")
    assert_same(tmp_path / "t", tmp_path / "w")
    # other rows in a file of the same name go on where it ended
    more = table_of(tmp_path / "more", {"jobs-b.csv": range(10, 15)})
    manifest = ingest("table", more, tmp_path / "t", append=True).manifest
    assert (manifest.rows["jobs"], manifest.generation) == (15, 3)
    again = ingest("table", tmp_path / "all", tmp_path / "t", append=True).manifest
    assert (again.rows["jobs"], again.generation) == (15, 3)
    (more / "map.toml").write_text(MAP + "\n", "utf-8")
    with pytest.raises(InputError, match="not the map"):
        ingest("table", more, tmp_path / "t", append=True)


def philly_day(
    folder: Path, days: Sequence[int], machines: Sequence[str] = ("m1", "m2"), long: int = 0
) -> Path:
    """An archive of some days from 2017-10-02: a job a day on two machines, and their hours.

    Its jobs started `long` days before.
    """
    jobs, gpu, cpu, mem = [], [], [], []
    for day in days:
        at = datetime(2017, 10, 2) + timedelta(days=day)
        start, end = at + timedelta(days=-long, hours=9), at + timedelta(hours=9, minutes=40)
        jobs.append(
            job(
                f"application_{day % 7}_{day}",
                [attempt(str(start), str(end), m1=2, m2=1)],
                submitted_time=str(at - timedelta(days=long)),
            )
        )
        for minute in range(0, 60, 5):
            local = at + timedelta(hours=2, minutes=minute)
            for machine in machines:
                stamp = f"{local} PDT,{machine}"
                gpu.append(f"{stamp},{day},{minute},NA,0,0,0,0,0,")
                cpu.append(f"{stamp},{minute}")
                mem.append(f"{stamp},100,{minute}")
    return write_archive(
        folder, jobs, cluster_gpu_util=gpu, cluster_cpu_util=cpu, cluster_mem_util=mem
    )


@pytest.mark.slow
def test_an_archive_appended_by_days_equals_one_archive(tmp_path: Path) -> None:
    order = [9, 0]
    grow("philly", [philly_day(tmp_path / f"d{d}", [d]) for d in order], tmp_path / "t")
    ingest("philly", philly_day(tmp_path / "all", order), tmp_path / "w")
    assert_same(tmp_path / "t", tmp_path / "w")
    one, other = (Manifest.read(tmp_path / name) for name in ("t", "w"))
    assert set(one.notes) == set(other.notes)


def test_repeated_samples_are_rejected_by_line(tmp_path: Path) -> None:
    ingest("philly", philly_day(tmp_path / "one", [0], ["m1"]), tmp_path / "t")
    manifest = ingest(
        "philly", philly_day(tmp_path / "two", [0, 1]), tmp_path / "t", append=True
    ).manifest
    for table, lines in (("gpu_samples", 48), ("host_samples", 96)):
        counted = account(manifest, table)
        halves = lines // 48
        assert (counted.read, counted.kept) == (60 * halves, 48 * halves)
        assert counted.rejected == {"the key (sampled_at, machine_id) repeats": 12 * halves}
    with Trace(tmp_path / "t") as trace:
        rejected = trace.sql(
            "select source_line from rejects where source_file = 'cluster_gpu_util' order by all"
        ).fetchall()
        # of the first day, the lines of m1
        assert rejected == [(n,) for n in range(2, 26, 2)]
        assert trace.sql("select count(*) from gpu_samples").fetchall() == [(48,)]


def stored(trace: Path, names: Sequence[str]) -> dict[str, set[tuple[str, int]]]:
    """Compute stored relations; the week and the inode of each one's files."""
    with Trace(trace) as opened:
        opened.create(names)
    return {
        name: {
            (file.name[:10], file.stat().st_ino)
            for file in max(
                (trace / "derived").glob(f"{name}-*.parquet"),
                key=lambda folder: folder.stat().st_mtime_ns,
            ).glob("*.parquet")
        }
        for name in names
    }


@pytest.mark.slow
def test_a_new_day_recomputes_only_its_week(tmp_path: Path) -> None:
    out = tmp_path / "t"
    ingest("philly", philly_day(tmp_path / "0", [0, 9]), out)
    before = stored(out, ["gpu_use_bins"])["gpu_use_bins"]
    ingest("philly", philly_day(tmp_path / "10", [10]), out, append=True)
    after = stored(out, ["gpu_use_bins"])["gpu_use_bins"]
    assert {week for week, _ in before & after} == {"2017-10-02"}
    assert {week for week, _ in after - before} == {"2017-10-09"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_materialised_relations_after_appends_equal_those_of_one_ingest(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    out, held, taken_over = tmp_path / "t", list[int](), 0
    before: dict[str, set[tuple[str, int]]] = {}
    names = [name for name, relation in relations().items() if relation.materialized]
    for i in range(8):
        # a day, or jobs of three weeks that end now, in any order
        days = sorted(rng.sample([d for d in range(60) if d not in held], rng.choice([1, 1, 2])))
        held += days
        raw = philly_day(tmp_path / f"{i}", days, long=rng.choice([0, 0, 20]))
        ingest("philly", raw, out, append=True)
        if rng.random() < 0.7:  # sometimes nothing is asked for between appends
            after = stored(out, [n for n in names if relations()[n].samples])
            taken_over += sum(len(before.get(name, set()) & after[name]) for name in after)
            before = after
        whole = tmp_path / f"w{i}"
        shutil.copytree(out, whole, ignore=shutil.ignore_patterns("derived"))
        assert_same_relations(out, whole, names)
        for name in before:
            assert len(list((out / "derived").glob(f"{name}-*"))) <= 2
    assert taken_over


def assert_same_relations(grown: Path, whole: Path, names: Iterable[str]) -> None:
    with Trace(grown) as one, Trace(whole) as other:
        for name in names:
            rows, wanted = (t.answer(name).pl() for t in (one, other))
            exact = [c for c, kind in wanted.schema.items() if kind != pl.Float64]
            rows, wanted = (f.sort(exact, nulls_last=True) for f in (rows, wanted))
            assert rows.select(exact).equals(wanted.select(exact)), name
            for column in set(wanted.columns) - set(exact):
                a, b = (f[column].fill_null(-1).to_numpy() for f in (rows, wanted))
                assert a == pytest.approx(b, rel=1e-12), (name, column)


def smi(file: Path, first: int, last: int) -> Path:
    """What nvidia-smi prints of two GPUs of server n1, minute by minute of 2026-01-01."""
    lines = ["timestamp, index, uuid, utilization.gpu [%]"]
    for minute in range(first, last):
        at = datetime(2026, 1, 1) + timedelta(minutes=minute)
        lines += [f"{at:%Y/%m/%d %H:%M:%S}.000, {g}, GPU-{g}, {minute % 100} %" for g in range(2)]
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join([*lines, ""]), "utf-8")
    return file


@pytest.mark.slow
def test_telemetry_is_appended_with_its_jobs(tmp_path: Path) -> None:
    """The third append brings an hour that is there already, and the job that ended in it."""
    pages = [
        [line(1, 0), line(4, 0, "RUNNING")],
        [line(4, 0, "RUNNING", hours=5)],
        [line(4, 0, hours=3), line(7, 0, hours=4)],
    ]
    spans = [(0, 60), (60, 120), (90, 240)]
    for i, (rows, span) in enumerate(zip(pages, spans, strict=True)):
        sacct = page(tmp_path / f"{i}.txt", rows)
        told = smi(tmp_path / f"smi-{i}" / "n1.csv", *span).parent
        grown = ingest("slurm", sacct, tmp_path / "t", telemetry=told, append=True).manifest
    again = ingest("slurm", sacct, tmp_path / "t", telemetry=told, append=True).manifest
    assert (grown.generation, again.generation) == (3, 3)
    every = smi(tmp_path / "all" / "n1.csv", 0, 240)
    raw = printed(tmp_path / "raw", [tmp_path / f"{i}.txt" for i in range(3)])
    ingest("slurm", raw, tmp_path / "w", telemetry=every)
    assert_equal_tables(tmp_path / "t", tmp_path / "w")
    counted = account(grown, "gpu_samples")
    assert (counted.read, counted.kept) == (540, 480)
    assert counted.rejected == {"the machine has a sample of that time already": 60}
    # a page of jobs alone leaves what telemetry filled
    ingest("slurm", page(tmp_path / "3.txt", [line(10, 1)]), tmp_path / "t", append=True)
    assert_equal_tables(tmp_path / "t", tmp_path / "w", ("gpu_samples", "devices"))


class Killed(BaseException):
    """What stands for a kill: nobody catches it."""


def killed(source: str, raw: Path, out: Path, last: int) -> int:
    """Append, but for a kill at the `last` step, with nothing cleared away; count the steps."""
    steps = itertools.count(1)

    def step(does: Callable[..., object]) -> Callable[..., object]:
        def counted(*given: object, **named: object) -> object:
            # nor does any other thread get further
            if next(steps) >= last > 0:
                raise Killed
            done = does(*given, **named)
            if next(steps) >= last > 0:
                raise Killed
            return done

        return counted

    with pytest.MonkeyPatch.context() as patch:
        steps_of: dict[object, tuple[str, ...]] = {
            raw_store.RawStore: ("merge", "merge_touched"),
            ingest_tables: ("fill_table", "fill_streamed"),
            increment: ("fill_table", "replace_rows"),
            trace_builder.TraceBuilder: ("merge_rejects",),
            writer: ("_flush",),
            Path: ("write_text", "replace"),
        }
        for owner, names in steps_of.items():
            for name in names:
                patch.setattr(owner, name, step(getattr(owner, name)))
        if last:
            patch.setattr(shutil, "rmtree", lambda *given, **named: None)
        with suppress(Killed):
            ingest(source, raw, out, append=True)
    return next(steps) - 1


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("source", ["philly", "slurm"])
def test_a_killed_append_leaves_the_old_or_the_new_trace(
    tmp_path: Path, source: str, every: bool
) -> None:
    if source == "philly":
        one, two = (philly_day(tmp_path / str(day), [day]) for day in (0, 1))
    else:
        one = page(tmp_path / "1.txt", [line(1, 0), line(2, 0, "RUNNING")])
        two = page(tmp_path / "2.txt", [line(2, 0), line(3, 1)])
    ingest(source, one, tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    total = killed(source, two, tmp_path / "new", 0)
    old, new = tables(tmp_path / "old"), tables(tmp_path / "new")
    assert not same(old, new)
    out, became_new = tmp_path / "t", []
    shutil.copytree(tmp_path / "old", out)
    # the last eight: the manifest is written, flushed and swapped, and the folder flushed
    for last in range(1, total + 1) if every else (total - 3, total - 2):
        assert killed(source, two, out, last) >= last
        held = tables(out)
        if same(held, new):
            became_new.append(total - last)
            shutil.rmtree(out)
            shutil.copytree(tmp_path / "old", out)
        else:
            assert same(held, old)
    assert became_new == ([2, 1, 0] if every else [2])
    # what was left half-way goes with the next append
    killed(source, two, out, total - 3)
    left = set((out / "parts").rglob("*.parquet"))
    ingest(source, two, out, append=True)
    assert same(tables(out), new)
    named = {out / file for files in Manifest.read(out).files.values() for file in files}
    assert left and set((out / "parts").rglob("*.parquet")) <= named


@pytest.mark.slow
def test_appended_files_are_on_the_disk_before_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(writer, "_flush", flushed.append)
    out, known = tmp_path / "t", set[str]()
    for day in range(3):
        flushed.clear()
        ingest("philly", philly_day(tmp_path / str(day), [day]), out, append=True)
        files = set(Manifest.read(out).every_file)
        if day:
            until = next(i for i, file in enumerate(flushed) if "manifest" in file.name)
            assert {out / file for file in files - known} <= set(flushed[:until])
        known |= files


@pytest.mark.slow
def test_an_open_trace_is_unchanged_by_an_append(tmp_path: Path) -> None:
    out = tmp_path / "t"
    ingest("philly", philly_day(tmp_path / "0", [0]), out)
    before = tables(out)
    with Trace(out) as reader:
        ingest("philly", philly_day(tmp_path / "1", [1]), out, append=True)
        with Trace(out) as other:
            assert other.answer("jobs").pl().height == 2
            other.create(["gpu_use_bins"])
        assert same({name: reader.answer(name).pl().sort(pl.all()) for name in before}, before)
        assert reader.sql("select count(*) from gpu_use_bins").fetchall() != [(0,)]
        with Trace(out) as other:
            assert other.sql("select count(*) from waits").fetchall() == [(2,)]


@pytest.mark.slow
def test_concurrent_or_unfitting_appends_are_refused(tmp_path: Path) -> None:
    out, raw = tmp_path / "t", page(tmp_path / "raw", [line(day, day) for day in range(5)])
    more = page(tmp_path / "more", [line(5, 5)])
    for said in ("trace up to date", "Nothing new: raw was read before."):
        result = invoke("ingest", "slurm", raw, out, "--append")
        assert result.exit_code == 0 and said in result.output + result.stderr
    (tmp_path / "none").mkdir()
    other = table_of(tmp_path / "other", {"jobs-b.csv": range(5, 10)})
    refusals: tuple[tuple[str, Path, Path, dict[str, Any], str], ...] = (
        ("slurm", more, out, {"append": True, "force": True}, "not both"),
        ("slurm", more, out, {"append": True, "synthetic": True}, "is recorded and"),
        ("table", other, out, {"append": True}, "is a trace of slurm, and table"),
        ("slurm", more, tmp_path / "none", {"append": True}, "not a trace"),
    )
    for source, new, to, options, message in refusals:
        with pytest.raises(TraceError, match=message):
            ingest(source, new, to, **options)
    for mode in ("append", "force"):
        with writer.append_to(out), pytest.raises(TraceError, match="another process is append"):
            ingest("slurm", more, out, append=mode == "append", force=mode == "force")
    assert list((tmp_path / "none").iterdir()) == []
    shutil.rmtree(out / "raw")
    manifest = Manifest.read(out)
    files = {n: f for n, f in manifest.files.items() if not n.startswith("raw/")}
    (out / "manifest.json").write_text(replace(manifest, files=files).to_json(), "utf-8")
    with pytest.raises(TraceError, match="stored no raw records"):
        ingest("slurm", more, out, append=True)
    assert tables(out)["jobs"].height == 5


@pytest.mark.slow
def test_a_folder_may_hold_files_of_another_kind_that_were_refused_before(tmp_path: Path) -> None:
    raw, out = tmp_path / "raw", tmp_path / "t"
    raw.mkdir()
    page(raw / "a", [line(day, day) for day in range(3)])
    (raw / "readme.txt").write_text("no output of sacct\n")
    ingest("slurm", raw, out)
    unchanged = ingest("slurm", raw, out, append=True)
    assert unchanged.manifest.notes[-1] == "Nothing new: raw was read before."
    page(raw / "b", [line(day, day) for day in range(3, 5)])
    grown = ingest("slurm", raw, out, append=True)
    assert grown.manifest.rows["jobs"] == 5
    refused = [a.rejected for a in grown.manifest.accounts if a.table == "attempts"]
    assert refused == [{"a file that is no output of sacct": 1}]
    (raw / "other.txt").write_text("no output of sacct either\n")
    with pytest.raises(InputError, match=r"other\.txt is no output of sacct"):
        ingest("slurm", raw, out, append=True)
