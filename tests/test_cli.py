"""The words that a user types."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from philly_analysis.cli import app
from philly_analysis.schema import TABLES
from tests.paper import paper_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return paper_trace(tmp_path / "paper")


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(w) for w in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("query", "{path}", "drop table jobs"), "SELECT"),
        (("query", "{path}", "select * from gpu_samples"), "needs the table gpu_samples"),
        (("query", "nowhere", "select 1"), "not a trace"),
        (("analyze", "{path}", "nonsense"), "no analysis named 'nonsense'"),
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
