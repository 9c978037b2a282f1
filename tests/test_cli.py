"""The words that a user types."""

import csv
import io
import json
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

import philly_analysis
from philly_analysis.chapters import ANALYSES, analyze
from philly_analysis.cli import app
from philly_analysis.schema import TABLES
from philly_analysis.trace import Trace
from tests.paper import paper_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return paper_trace(tmp_path / "paper")


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(w) for w in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_it_says_its_version() -> None:
    assert run("--version")[:2] == (0, f"philly-analysis {metadata.version('philly-analysis')}\n")
    assert philly_analysis.__version__ == metadata.version("philly-analysis")


def test_the_data_dictionary_names_each_column() -> None:
    code, out, _ = run("tables", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [(r["table"], r["column"]) for r in rows] == [
        (t.name, c.name) for t in TABLES.values() for c in t.columns
    ]


def test_tables_of_a_trace_tell_what_is_absent(path: Path) -> None:
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
    told = found["run_time"]
    assert told["question"] == ANALYSES["run_time"].QUESTION
    assert [(f["name"], f["value"], f["meaning"]) for f in told["facts"]] == [
        (f.name, f.value, f.meaning) for f in result.facts
    ]
    for part in ("sentences", "caveats", "warnings"):
        assert told[part] == list(getattr(result, part))
    assert len(told["table"]) == len(result.table)
    assert list(told["table"][0]) == list(result.table.columns)
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
    ("words", "said"),
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
    ],
)
def test_a_mistake_is_one_line_and_exit_1(path: Path, words: tuple[str, ...], said: str) -> None:
    code, out, err = run(*(w.format(path=path) for w in words))
    assert code == 1
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_text_from_logs_is_not_markup(path: Path) -> None:
    _, out, _ = run("query", path, "select '[red]x[/red]' as \"[b]\"")
    assert "[red]x[/red]" in out
    assert "[b]" in out
