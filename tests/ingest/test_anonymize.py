"""Check anonymised traces: no names are left, and the numbers are equal."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from philly_analysis import analyze, ingest
from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest.anonymize import Pseudonyms, load_key
from philly_analysis.report.findings import ANALYSES
from philly_analysis.trace.schema import REJECTS, TABLES
from philly_analysis.trace.trace import Trace
from tests.ingest.test_slurm_output import folder
from tests.support.repository import SAMPLE

_NAMES = ("name", "path")
_DRAWN = ("clock_offset", "host_clock_offset", "locality_effect", "calibration", "philly_like")
"""Findings from a sample that names decide, or resampled in the order of names."""
_QUEUE = """id,asked,waited,ran,gpus,group,who,result
secret-17,2026-03-02 09:15:00,5,8,1,vision/nlp,alice,ok
secret-18,2026-03-02 09:20:00,0,2,2,speech,bob jones,error
secret-19,2026-03-02 09:31:00,,,4,vision,alice,ok
secret-19,2026-03-02 09:31:00,,,4,vision,alice,ok
secret-20,never,,,4,vision,mallory,ok
"""
_MAP = """what = "Jobs of the vision group's cluster, read from hidden-queue.csv."

[jobs]
job_id = "id"
submitted_at = "asked"
wait_s = {column = "waited", unit = "min"}
run_s = {column = "ran", unit = "h"}
gpus = "gpus"
vc = "group"
pool = "group"
user = "who"
status = {column = "result", words = {ok = "Pass"}, otherwise = "Failed"}
"""
_OUTPUT = {
    "job_id": "secret-18",
    "text": "bob jones said\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
}


def _frames(trace: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    """Every Parquet file of a trace, by the table that it is of."""
    for file in sorted(trace.rglob("*.parquet")):
        at = file.relative_to(trace)
        yield at.parts[0].removesuffix(".parquet"), pl.read_parquet(file)


def _told(trace: Path, kinds: tuple[str, ...]) -> set[str]:
    """Return the values of the trace's columns of the named kinds."""
    tables = TABLES | {REJECTS.name: REJECTS}
    names: set[str] = set()
    for name, rows in _frames(trace):
        for column in tables[name].columns if name in tables else ():
            if column.text in kinds:
                names |= set(rows[column.name].drop_nulls().to_list())
    manifest = json.loads((trace / "manifest.json").read_text("utf-8"))
    return names | {i[k] for i in manifest["inputs"] for k in ("file", "digest")}


def _everything(trace: Path) -> tuple[set[str], str]:
    """Every text in the tables of a trace, and what its other files say."""
    values = {
        value
        for _, rows in _frames(trace)
        for column in rows.iter_columns()
        if column.dtype == pl.String
        for value in column.drop_nulls()
    }
    files = [f for f in trace.rglob("*") if f.is_file() and f.suffix != ".parquet"]
    return values, "\n".join(f.read_text("utf-8") for f in files)


def _leaks(plain: Path, without: Path) -> set[str]:
    """Names of the plain trace that the other still says; counts and vocabulary are no names."""
    names = {n for n in _told(plain, _NAMES) if len(n) >= 3 and not n.isdecimal()}
    names |= {part for n in names for part in n.split("/") if len(part) >= 3}
    names |= _told(plain, ("text",))
    ours = {v for t in TABLES.values() for c in t.columns for v in re.findall(r"'(\w+)'", c.check)}
    for table, rows in _frames(plain):  # the last part of a pool's name may be a model of GPU
        if table in ("jobs", "machines"):
            ours |= set(rows["gpu_model"].drop_nulls())
    values, files = _everything(without)
    sentences = "\n".join([files, *(v for v in values if " " in v)])
    return {
        n
        for n in names - ours - TABLES.keys()
        if n in values or re.search(rf"(?<!\w){re.escape(n)}(?!\w)", sentences)
    }


def _facts(trace: Trace, names: list[str]) -> dict[str, list[float]]:
    """Numbers of each finding, whatever it calls them."""
    return {
        # names order jobs that arrived in the same second, and decide which overtaking is harmless
        name: sorted(
            round(fact.value, 6)
            for fact in result.facts
            if isinstance(fact.value, int | float) and not fact.name.startswith("harmless")
        )
        for name, result in analyze(trace, names).items()
    }


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    (tmp_path / "hidden-queue.csv").write_text(_QUEUE)
    (tmp_path / "hidden-queue.toml").write_text(_MAP)
    (tmp_path / "output.jsonl").write_text(json.dumps(_OUTPUT) + "\n")
    return tmp_path / "hidden-queue.csv"


@pytest.mark.slow
def test_no_name_is_left_of_a_table(queue: Path, tmp_path: Path) -> None:
    plain, without, key = tmp_path / "plain", tmp_path / "without", tmp_path / "key"
    failures = tmp_path / "output.jsonl"
    ingest("table", queue, plain, failures=failures)
    made = ingest("table", queue, without, failures=failures, anonymize=key).manifest
    assert {"alice", "bob jones", "secret-17", "hidden-queue.csv"} <= _told(plain, _NAMES)
    assert not _leaks(plain, without)
    assert made.rows["failures"] == 1 and made.rows["jobs"] == 3
    secret = key.read_bytes()
    assert len(secret) == 32 and key.stat().st_mode & 0o777 == 0o600

    def hashed(name: str) -> str:
        digest = hmac.new(secret, name.encode(), hashlib.sha256).digest()
        return base64.b32encode(digest).decode().lower()[:16]

    with Trace(plain) as a, Trace(without) as b:
        asked = (
            "select job_id, j.user, j.vc, pool, sum_s from job_runs join jobs as j using (job_id)"
        )
        expected = {
            (hashed(j), hashed(u), hashed(v), "/".join(map(hashed, p.split("/"))), run_s)
            for j, u, v, p, run_s in a.sql(asked).fetchall()
        }
        assert set(b.sql(asked).fetchall()) == expected and len(expected) == 3
        excerpts = b.sql("select reason, excerpt from failures").fetchall()
        assert excerpts == [("GPU out of memory", None)]
        assert b.sql("select count(*), count(raw) from rejects").fetchall() == [(4, 0)]
    assert "vision" not in (without / "manifest.json").read_text("utf-8")


def test_the_same_key_gives_the_same_names_and_another_others(tmp_path: Path) -> None:
    keys = [load_key(tmp_path / name, tmp_path / "t") for name in ("key", "key", "other")]
    first, again, other = (Pseudonyms(key).name("alice") for key in keys)
    assert first == again != other


@pytest.mark.slow
def test_a_trace_without_names_does_not_grow(queue: Path, tmp_path: Path) -> None:
    out, key = tmp_path / "t", tmp_path / "key"
    with pytest.raises(TraceError, match="so it cannot grow"):
        ingest("table", queue, out, anonymize=key, append=True)
    ingest("table", queue, out, anonymize=key)
    assert not (out / "raw").exists()
    with pytest.raises(TraceError, match="no raw records"):
        ingest("table", queue, out, append=True)


def test_a_key_that_would_travel_or_is_none_is_refused(queue: Path, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"abc")
    keys = {
        "t/key": "would be in the trace",
        "short": "has 3 bytes",
        "no/such/key": "no/such/key: No such file",
    }
    for key, message in keys.items():
        with pytest.raises(InputError, match=message):
            ingest("table", queue, tmp_path / "t", anonymize=tmp_path / key)
    assert not (tmp_path / "t").exists()


@pytest.mark.slow
def test_a_real_slurm_says_the_same_without_names(tmp_path: Path) -> None:
    raw = folder(tmp_path / "raw", ["wide_D.txt", "scontrol_show_node.*.txt"])
    plain, without = tmp_path / "plain", tmp_path / "without"
    ingest("slurm", raw, plain)
    ingest("slurm", raw, without, anonymize=tmp_path / "key")
    assert {"alpha", "beta", "wide_D.txt.gz"} <= _told(plain, _NAMES)
    assert not _leaks(plain, without)
    asked = ["queueing_delay", "delay_causes", "out_of_order", "occupancy", "concentration"]
    with Trace(plain) as a, Trace(without) as b:
        assert _facts(a, asked) == _facts(b, asked)
        reasons = "select distinct wait_reason from attempts order by all"
        assert b.sql(reasons).fetchall() == sorted(
            {(re.split(r"\W", r)[0] if r else r,) for (r,) in a.sql(reasons).fetchall()}, key=str
        )


@pytest.mark.slow
def test_a_philly_archive_says_the_same_without_names(tmp_path: Path) -> None:
    plain, without = tmp_path / "plain", tmp_path / "without"
    ingest("philly", SAMPLE, plain)
    ingest("philly", SAMPLE, without, anonymize=tmp_path / "key")
    assert not _leaks(plain, without)
    with Trace(plain) as a, Trace(without) as b:
        asked = [n for n in ANALYSES if n not in _DRAWN and a.tables.issuperset(ANALYSES[n].needs)]
        assert _facts(a, asked) == _facts(b, asked)


def test_every_text_column_says_what_it_tells() -> None:
    for table in (*TABLES.values(), REJECTS):
        for column in table.columns:
            assert bool(column.text) == (column.type == "varchar"), (table.name, column.name)
