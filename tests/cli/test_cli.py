"""Check the output, errors, completion and start-up time of the command line."""

import csv
import io
import json
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

import philly_analysis
from philly_analysis import analyze
from philly_analysis.cli import app
from philly_analysis.ingest.source_registry import detect_source
from philly_analysis.report.findings import ANALYSES
from philly_analysis.results.formatting import duration
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import Trace
from tests.support.small_traces import paper_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return paper_trace(tmp_path / "paper")


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(w) for w in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_version() -> None:
    assert run("--version")[:2] == (0, f"philly-analysis {metadata.version('philly-analysis')}\n")
    assert philly_analysis.__version__ == metadata.version("philly-analysis")


def test_the_package_runs_as_a_module() -> None:
    words = (sys.executable, "-m", "philly_analysis", "--version")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == run("--version")[1]


def _cpu_s(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    "words",
    [
        ("-c", "import philly_analysis"),
        ("-m", "philly_analysis", "--help"),
        ("-m", "philly_analysis", "analyze", "--help"),
        ("-m", "philly_analysis", "sweep", "--help"),
    ],
)
def test_start_up_takes_less_than_a_third_of_a_second(words: tuple[str, ...]) -> None:
    """Take the minimum of three runs, as other processes share the caches."""
    assert min(_cpu_s(*words) for _ in range(3)) <= 0.3


def test_the_data_dictionary_names_each_column() -> None:
    code, out, _ = run("tables", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [(r["table"], r["column"]) for r in rows] == [
        (t.name, c.name) for t in TABLES.values() for c in t.columns
    ]


def test_tables_of_a_trace_have_no_rows_where_absent(path: Path) -> None:
    _, out, _ = run("tables", path, "--json")
    rows = {r["table"]: r["rows"] for r in json.loads(out)}
    assert rows["placements"] == 13
    assert rows["gpu_samples"] is None


def test_query_prints_csv_and_json(path: Path) -> None:
    text = "select job_id, gpus from jobs order by all"
    assert run("query", path, text, "--csv")[1] == "job_id,gpus\na,1\nb,2\nc,8\n"
    assert json.loads(run("query", path, text, "--json")[1])[2] == {"job_id": "c", "gpus": 8}
    assert "job_id" in run("query", path, text)[1]


def test_findings_are_one_json_document(path: Path) -> None:
    _, out, _ = run("analyze", path, "run_time", "overview", "--json")
    found = json.loads(out, parse_constant=pytest.fail)
    assert list(found) == ["run_time", "overview"]
    with Trace(path) as trace:
        result = analyze(trace, ["run_time"])["run_time"]
    document = found["run_time"]
    assert document["question"] == ANALYSES["run_time"].QUESTION
    assert [(f["name"], f["value"], f["meaning"]) for f in document["facts"]] == [
        (f.name, f.value, f.meaning) for f in result.facts
    ]
    for part in ("sentences", "caveats", "warnings"):
        assert document[part] == list(getattr(result, part))
    assert len(document["table"]) == len(result.table)
    assert list(document["table"][0]) == list(result.table.columns)
    assert found["overview"]["table"][0]["day"].startswith("2017-10-03")
    assert found["overview"]["table"][0]["gpu_samples"] is None


def test_one_finding_is_one_csv_and_several_go_to_a_folder(path: Path, tmp_path: Path) -> None:
    _, out, _ = run("analyze", path, "run_time", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["gang", "jobs", "censored", "percentile", "run_s"]
    _, out, _ = run("analyze", path, "run_time", "overview", "--csv", "--out", tmp_path / "tables")
    assert sorted(f.name for f in (tmp_path / "tables").iterdir()) == [
        "overview.csv",
        "run_time.csv",
    ]
    with (tmp_path / "tables" / "run_time.csv").open(newline="") as file:
        assert [r["run_s"] for r in csv.DictReader(file)] == [
            f"{float(r['run_s'])}" if r["run_s"] else "" for r in rows
        ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("query", "{path}", "drop table jobs"), "SELECT"),
        (("query", "{path}", "select * from gpu_samples"), "needs the table gpu_samples"),
        (("query", "nowhere", "select 1"), "not a trace"),
        (("analyze", "{path}", "nonsense"), "no analysis named 'nonsense'"),
        (("analyze", "{path}", "run_time", "overview", "--csv"), "Name one"),
        (("analyze", "{path}", "--csv"), "--out FOLDER"),
        (("analyze", "{path}", "run_time", "--out", "{path}/manifest.json"), "cannot be written"),
        (("ingest", "nonsense", "{path}", "out"), "no source named 'nonsense'"),
        (("report", "nowhere"), "not a trace"),
        (("report", "nowhere"), "Make one with philly ingest SOURCE RAW OUT"),
        (("fit", "{path}", "{path}"), "a folder: name a file in it"),
        (("fit", "{path}", "{path}/no/model.json"), "there is no folder"),
        (("ingest", "auto", "{path}/jobs.parquet", "out"), "no source recognises"),
        (("sample", "philly", "{path}", "--jobs", "9"), "or --force to replace it"),
    ],
)
def test_a_mistake_is_one_line_and_exit_1(path: Path, words: tuple[str, ...], message: str) -> None:
    code, out, err = run(*(w.format(path=path) for w in words))
    assert code == 1
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_text_from_logs_is_not_markup(path: Path) -> None:
    _, out, _ = run("query", path, "select '[red]x[/red]' as \"[b]\"")
    assert "[red]x[/red]" in out
    assert "[b]" in out


@pytest.mark.parametrize(
    ("words", "among"),
    [
        ("philly ana", {"analyze"}),
        ("philly analyze x queueing_d", {"queueing_delay", "queueing_delay_by_group"}),
        ("philly simulate x fi", {"fifo"}),
        ("philly sample phil", {"philly", "philly-attempts"}),
        ("philly export x sw", {"swf"}),
        ("philly ingest slu", {"slurm"}),
        ("philly simulate x fifo y --spe", {"--speed"}),
    ],
)
def test_a_shell_completes_words(words: str, among: set[str]) -> None:
    shell = {"_PHILLY_COMPLETE": "complete_bash", "COMP_WORDS": words}
    done = CliRunner().invoke(
        app, prog_name="philly", env={**shell, "COMP_CWORD": str(len(words.split()) - 1)}
    )
    assert set(done.stdout.split()) == among


def test_a_simulation_prints_mean_completion_time_and_wait(path: Path, tmp_path: Path) -> None:
    _, out, _ = run("simulate", path, "fifo", tmp_path / "what-if")
    with Trace(tmp_path / "what-if") as trace:
        [(jobs, jct, wait)] = trace.sql(
            "select count(*), avg(jct_s), avg(wait_s) from completions"
        ).fetchall()
    summary = (
        f"fifo: {jobs} jobs ended; mean job completion time {duration(jct)}, "
        f"mean wait {duration(wait)}"
    )
    assert f"{summary}\ntrace written to" in out


def test_a_sample_and_its_export_print_the_limits_of_the_model(tmp_path: Path) -> None:
    _, sampled, _ = run("sample", "philly", tmp_path / "jobs", "--jobs", "40")
    _, exported, _ = run("export", tmp_path / "jobs", "swf", tmp_path / "jobs.swf")
    for out in (sampled, exported):
        assert "note: Only passed jobs" in " ".join(out.split())


def test_the_source_is_detected_from_the_files(tmp_path: Path) -> None:
    for files, source in (
        ({"cluster_job_log": "[]"}, "philly"),
        ({"pai_job_table.csv": ""}, "pai"),
        ({"map.toml": "", "a.csv": ""}, "table"),
        ({"sacct.txt": "JobIDRaw|User|Submit|Start|End|State|AllocTRES|\n"}, "slurm"),
        ({"sacct.json": '{"jobs": [{"time": {}, "state": {}}]}'}, "slurm"),
    ):
        folder = tmp_path / "-".join(files)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        assert detect_source(folder) == source
    assert detect_source(folder / "sacct.json") == "slurm"
    (tmp_path / "trace-data.tar.gz").touch()
    assert detect_source(tmp_path / "trace-data.tar.gz") == "philly"


@pytest.mark.slow
def test_the_demo_writes_its_page_to_any_folder(tmp_path: Path) -> None:
    code, out, _ = run("demo", tmp_path / "mine")
    page = tmp_path / "mine" / "reports" / "sample" / "report.html"
    assert code == 0 and "report written to" in out
    assert "Synthetic data." in page.read_text("utf-8")
