"""Check ingest of a table of jobs by a map of its columns."""

import gzip
import re
import tempfile
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import ingest
from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.ingest.table.table_map import SHIPPED, load_map
from tests.ingest.conftest import Ingest, write_files
from tests.support.slow import quick_first
from tests.support.strategies import one_in


def write(folder: Path, map_text: str, **files: str) -> Path:
    """Write a map and files, named without their ``.csv``, into a folder."""
    tables = {f"{name}.csv": text for name, text in files.items()}
    return write_files(folder / "raw", {"map.toml": map_text, **tables})


@pytest.fixture
def table(tmp_path: Path, ingested: Ingest) -> Ingest:
    """Return a function that ingests files, named without their ``.csv``, by a map."""
    return lambda map_text, **files: ingested("table", write(tmp_path, map_text, **files))


def test_times_are_read_in_the_units_and_zones_that_the_map_names(table: Ingest) -> None:
    got = table(
        """
        [jobs]
        submitted_at = {column = "s", unit = "ms", origin = 2021-03-04T01:00:00+01:00}
        eligible_at = {column = "e", zone = "America/New_York"}
        started_at = {column = "b", format = "%d/%m/%Y %H:%M", zone = "Asia/Shanghai"}
        ended_at = {column = "f", unit = "s", misread_as = "America/New_York"}
        """,
        # 17:00 UTC is 13:00 in New York; who took 13:00 UTC for New York's clock got 17:00 UTC
        t="s,e,b,f\n1500,2021-03-28T10:00:00,01/04/2021 09:30,1617296400\n"
        "1500,2021-03-28 10:00:00+02:00,01/04/2021 09:30,\n"
        "1500,2021-03-28,01/04/2021 09:30,\n",
    )
    jobs = got.rows("select submitted_at, eligible_at from jobs order by job_id")
    start = datetime(2021, 3, 4, 0, 0, 1, 500_000)
    assert jobs == [
        (start, datetime(2021, 3, 28, 14)),  # New York is four hours behind
        (start, datetime(2021, 3, 28, 8)),  # an offset of its own goes first
        (start, datetime(2021, 3, 28, 4)),  # and a date has none
    ]
    attempts = got.rows("select started_at, ended_at from attempts order by job_id")
    began = datetime(2021, 4, 1, 1, 30)
    assert attempts == [(began, datetime(2021, 4, 1, 13)), (began, None), (began, None)]


@pytest.mark.parametrize(
    ("files", "ids"),
    quick_first(
        [
            (
                {"a": "n,c\n,x\n7,x\n7,y\n8,y\n8,y2\n9,y\n"},
                ["000000002", "9", "x:7", "y2:8", "y:7", "y:8"],
            ),
            (
                {"a": "n,c\n,x\n7,x\n", "b": "n,c\n,x\n"},
                ["7", "a.csv:000000002", "b.csv:000000002"],
            ),
        ]
    ),
)
def test_jobs_are_named_by_cluster_or_line_where_their_identifier_is_not_enough(
    files: dict[str, str], ids: list[str], table: Ingest
) -> None:
    got = table(
        """
        [jobs]
        files = "*.csv"
        job_id = "n"
        cluster = "c"
        submitted_at = {value = "2026-01-05T00:00:00Z"}
        """,
        **files,
    )
    assert got.rows("select job_id from jobs order by all") == [(job_id,) for job_id in ids]


def test_what_start_and_end_follow_from(table: Ingest) -> None:
    got = table(
        """
        [jobs]
        job_id = "id"
        submitted_at = {column = "at", unit = "h"}
        wait_s = {column = "wait", unit = "min"}
        run_s = {column = "run", unit = "d"}
        ended_at = {column = "end", unit = "h"}
        """,
        t="id,at,wait,run,end\nwaits,1,30,0.5,\nsuspended,1,30,0.5,20\nno wait,1,,0.5,\n"
        "runs,1,30,,\nnever,1,,,\n",
    )
    half_past = datetime(1970, 1, 1, 1, 30)
    assert got.rows("select job_id, started_at, ended_at, run_s from attempts order by all") == [
        ("never", None, None, None),
        ("no wait", None, None, 43_200.0),
        ("runs", half_past, None, None),
        ("suspended", half_past, datetime(1970, 1, 1, 20), 43_200.0),
        ("waits", half_past, datetime(1970, 1, 1, 13, 30), None),
    ]
    left_out = got.rows("select job_id, left_out from workload_jobs order by all")
    assert left_out[0] == ("never", "no attempt has a start")


def test_numbers_and_words(table: Ingest) -> None:
    got = table(
        """
        [jobs]
        submitted_at = {column = "at", unit = "s"}
        gpus = {column = "gpu", round_up = true, times = "workers"}
        gpu_frac = {column = "gpu", at_most = 1}
        cpus = {column = "tres", pattern = '(?:^|,)cpu:\\w+=([0-9]+)', otherwise = 0}
        mem_gb = {column = "mem", scale = 0.5, nulls = ["-"]}
        status = {column = "state", words = {OK = "Pass", RUNNING = ""}, otherwise = "Failed"}
        cluster = {value = "c1"}
        vc = "queue"
        """,
        t="at,gpu,workers,tres,mem,state,queue\n"
        '1,0.25,3,"cpu:a=4,gpu=9,cpu:b=8",10,OK," fast, cheap "\n'
        "2,2,2,none,-,RUNNING,\n"
        "3,1.5,2,,,LOST,NULL\n",
    )
    assert got.rows(
        "select gpus, gpu_frac, cpus, mem_gb, status, cluster, vc from jobs order by job_id",
    ) == [
        (3, 0.25, 12.0, 5.0, "Pass", "c1", "fast, cheap"),
        (4, 1.0, 0.0, None, None, "c1", None),
        (4, 1.0, None, None, "Failed", "c1", "NULL"),
    ]


def test_every_row_is_kept_or_rejected_with_its_line(table: Ingest) -> None:
    got = table(
        """
        [jobs]
        job_id = "id"
        submitted_at = "at"
        run_s = {column = "run", unit = "s"}
        gpus = "gpus"
        status = {column = "end", words = {ok = "Pass"}}
        """,
        t="id,at,run,gpus,end\na,2021-01-01,5,1,ok\n\nb,2021-02-30,5,1,ok\n"
        'c,2021-01-01,soon,1,ok\n"d\nd",2021-01-01,5,0,\n'
        "e,2021-01-01,5,1.5,ok\nf,2021-01-01,5,1\na,2021-01-01,5,1,ok\ng,2021-01-01,5,1,bad\n"
        "h,2021-01-01,-5,1,ok\ni,,5,1,ok\n\ufffd,2021-01-01,5,1,ok\n",
    )
    assert got.account("jobs").rejected == {
        "4 fields where the header has 5": 1,
        "gpus is not a whole number": 1,
        "not UTF-8 text": 1,
        "run_s is not a number": 1,
        "status is none of the words in the map": 1,
        "submitted_at is missing": 1,
        "submitted_at is not a time": 1,
        "the key (job_id) repeats": 1,
    }
    lines = got.rows("select source_line, raw from rejects where \"table\" = 'jobs' order by all")
    assert [line for line, _ in lines] == [4, 5, 8, 9, 10, 11, 13, 14]
    assert lines[0][1] == "b,2021-02-30,5,1,ok"
    [jobs] = got.rows("select list(job_id order by job_id) from jobs")
    assert jobs == (["a", "d\nd", "h"],)


@pytest.mark.slow
def test_the_last_line_needs_no_end_and_none_is_longer_than_a_megabyte(
    tmp_path: Path, ingested: Ingest
) -> None:
    raw = write(tmp_path, '[jobs]\nsubmitted_at = "at"\n', t="at\n2021-01-01")
    assert ingested("table", raw).account("jobs").kept == 1
    (raw / "t.csv").write_text("at\n2021-01-01\n" + "x" * (1 << 20))
    with pytest.raises(InputError, match="line 3, is longer than 1 MB"):
        ingest("table", raw, tmp_path / "long")


cells = st.text(st.sampled_from('ab 1.,"\n\r;\x00é-'), max_size=6)


@one_in(8)
@given(st.lists(st.lists(cells, min_size=2, max_size=3), max_size=12), st.booleans())
def test_whatever_the_text_it_is_accounted_for(lines: list[list[str]], gz: bool) -> None:
    """Read = kept + rejected, on any text: the writer of the manifest checks it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # one row that is kept: a trace without any job is refused
        text = "at,gpus\n2021-01-01,1\n" + "".join(",".join(line) + "\n" for line in lines)
        raw = write(folder, '[jobs]\nfiles = "t.csv"\nsubmitted_at = "at"\ngpus = "gpus"\n')
        packed = gzip.compress(text.encode()) if gz else text.encode()
        (raw / ("t.csv.gz" if gz else "t.csv")).write_bytes(packed)
        manifest = ingest("table", raw, folder / "t").manifest
        [jobs, attempts] = manifest.accounts
        assert jobs.read == attempts.read <= text.count("\n") + text.count("\r")


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ({}, ["There is no nodes.csv, so the trace has no machines."]),
        ({"nodes": "id,gpus\n"}, []),
        ({"nodes": "id,gpus\nm1,8\n"}, []),
    ],
)
def test_a_table_without_a_file_is_named(
    nodes: dict[str, str], said: list[str], table: Ingest
) -> None:
    text = '[jobs]\nfiles = "jobs.csv"\nsubmitted_at = "at"\n'
    text += '[machines]\nfiles = "nodes.csv"\nmachine_id = "id"\ngpus = "gpus"\n'
    got = table(text, jobs="at\n2021-01-01\n", **nodes)
    assert [note for note in got.manifest.notes if "nodes" in note] == said


def test_parquet_is_read_as_csv_is(tmp_path: Path, ingested: Ingest) -> None:
    raw = write(tmp_path, '[jobs]\nsubmitted_at = "at"\nrun_s = {column = "run", unit = "s"}\n')
    jobs = duckdb.sql(
        "select timestamptz '2021-01-01 02:00:00+02' as at, 5::double as run, [1] as more "
        "union all select null, 7, null"
    )
    assert jobs is not None
    jobs.write_parquet(str(raw / "jobs.parquet"))
    got = ingested("table", raw)
    assert got.account("jobs").rejected == {"submitted_at is missing": 1}
    assert got.rows("select submitted_at from jobs") == [(datetime(2021, 1, 1),)]
    assert got.rows("select run_s from attempts") == [(5.0,)]


def test_a_map_beside_its_file_and_one_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text("at\n2021-01-01\n")
    with pytest.raises(InputError, match=r"no map: write .*jobs\.toml, or name one with map=NAME"):
        ingest("table", file, tmp_path / "t")
    (tmp_path / "jobs.toml").write_text('[jobs]\nsubmitted_at = "at"\n')
    beside = ingest("table", file, tmp_path / "t").manifest
    assert {i.file for i in beside.inputs} == {"jobs.csv", "jobs.toml"}
    named = ingest("table", file, tmp_path / "named", map=tmp_path / "jobs.toml").manifest
    assert named.rows == beside.rows == {"jobs": 1, "attempts": 1}
    with pytest.raises(UnknownNameError, match="Did you mean 'helios'"):
        ingest("table", file, tmp_path / "other", map="helos")
    with pytest.raises(InputError, match="takes no map"):
        ingest("philly", file, tmp_path / "other", map="helios")
    with pytest.raises(InputError, match="no column 'job_id', where the map expects job_id"):
        ingest("table", file, tmp_path / "other", map="acme")


AT = 'submitted_at = "at"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[jobs", "is not TOML"),
        ("", "it should have a table [jobs]"),
        ("jobs = 1", "jobs: should be a table"),
        ("[jobs]", "jobs: it should define submitted_at"),
        ("[jobs]\nwhere = 'x'\n" + AT, "jobs.where: is no key here"),
        ("[jobs]\ngpus = 1\n" + AT, "jobs.gpus: should be the name of a column"),
        ("[jobs]\ngpus = {colum = 'x'}\n" + AT, "jobs.gpus.colum: is no key here"),
        ("[jobs]\ngpus = {column = 1}\n" + AT, "jobs.gpus.column: should be text"),
        ("[jobs]\ngpus = {column = 'x', value = 1}\n" + AT, "jobs.gpus: should have one of"),
        ("[jobs]\ngpus = {column = 'x', unit = 's'}\n" + AT, "jobs.gpus.unit: is no key here"),
        ("[jobs]\ngpus = {column = 'x', scale = true}\n" + AT, "jobs.gpus.scale: should be a num"),
        ("[jobs]\ngpus = {column = 'x', pattern = '('}\n" + AT, "is no regular expression"),
        ("[jobs]\ngpus = {column = 'x', pattern = 'a'}\n" + AT, "should have one group"),
        ("[jobs]\ngpus = {column = 'at', pattern = '(?=a)(b)'}\n" + AT, "cannot be read: Inv"),
        ("[jobs]\nrun_s = {column = 'x', unit = 'y'}\n" + AT, "jobs.run_s.unit: should be one of"),
        ("[jobs]\nvc = {column = 'x', words = 'y'}\n" + AT, "jobs.vc.words: should be a table"),
        ("[jobs]\nvc = {column = 'x', otherwise = 'y'}\n" + AT, "jobs.vc: otherwise needs words"),
        ("[jobs]\nstatus = {column = 'x', words = {a = 'c', d = 'b'}}\n" + AT, "'b' is none of"),
        ("[jobs]\nstatus = {value = 'x'}\n" + AT, "'x' is none of Pass"),
        ("sample = {how = 'some', by = ['luck']}\n[jobs]\n" + AT, "'luck' is none of status"),
        ("sample = {by = ['status']}\n[jobs]\n" + AT, "sample.how: should be text"),
        ("[jobs]\ndelimiter = '||'\n" + AT, "jobs.delimiter: should be one character"),
        ("[jobs]\nheader = 'a'\n" + AT, "jobs.header: should be a list of texts"),
        ("[jobs]\nsubmitted_at = {column = 'x', zone = 'Mars'}", "should be a time zone"),
        ("[jobs]\nsubmitted_at = {column = 'x', zone = '../x'}", "should be a time zone"),
        ("[jobs]\nsubmitted_at = {column = 'x', misread_as = 'UTC'}", "misread_as needs a unit"),
        ("[jobs]\nsubmitted_at = {column='x', unit='s', zone='UTC', format='y'}", "format is for"),
        ("[jobs]\nsubmitted_at = {column = 'x', unit = 's', origin = '1'}", "a time with its off"),
        ("[jobs]\nsubmitted_at = {column = 'x', unit = 's', origin = 2021-01-01T00:00:00}", "off"),
        ("[jobs]\nsubmitted_at = {column = 'x', format = '%Y %z'}", "may not read offsets"),
        ("[jobs]\n" + AT + "[machines]\ngpus = 'x'\n", "machines: it should define machine_id"),
    ],
)
def test_a_map_that_is_wrong_names_the_key(text: str, words: str, tmp_path: Path) -> None:
    raw = write(tmp_path, text, t="at\n1\n")
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        ingest("table", raw, tmp_path / "t")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "t").exists()


HOSTILE = "x'); drop table jobs; --\" \\ {} $1 ?"


def test_texts_of_a_map_are_never_sql(table: Ingest) -> None:
    """One text as column, word, meaning, null, value and comment, and as a cell."""
    quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
    got = table(
        f"""
        what = "{quoted}"
        [jobs]
        nulls = ["no {quoted}"]
        comment = "#{quoted}"
        submitted_at = {{column = "at {quoted}", unit = "s"}}
        vc = {{column = "{quoted}", words = {{"{quoted}" = "said {quoted}"}}}}
        user = {{value = "{quoted}"}}
        """,
        t=f'#{HOSTILE}\n"at {HOSTILE.replace(chr(34), chr(34) * 2)}",'
        f'"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n1,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n',
    )
    assert got.manifest.notes[0] == HOSTILE
    assert got.rows("select vc, user from jobs") == [(f"said {HOSTILE}", HOSTILE)]


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda p: p.stem)
def test_shipped_maps_say_what_they_read_where_it_is_from_and_its_traps(path: Path) -> None:
    table_map = load_map(path.stem)
    assert table_map.what.endswith(".") and table_map.lacks.endswith(".")
    comments = "\n".join(x for x in path.read_text("utf-8").splitlines() if x.startswith("#"))
    assert "# Traps: " in comments
