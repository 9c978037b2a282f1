"""Check the output, errors, completion and imports of the command line."""

import csv
import io
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import philly_analysis
from philly_analysis import analyze
from philly_analysis.cli import app
from philly_analysis.report.findings import ANALYSES
from philly_analysis.results.formatting import duration
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import Trace
from tests.support.command_line import invoke, output_of, run
from tests.support.slow import quick_first
from tests.support.small_traces import paper_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return paper_trace(tmp_path / "paper")


def test_the_command_and_the_module_print_the_version() -> None:
    version = metadata.version("philly-analysis")
    printed = output_of(sys.executable, "-m", "philly_analysis", "--version")
    assert printed == run("--version") == f"philly-analysis {version}\n"
    assert philly_analysis.__version__ == version


HEAVY = {"duckdb", "jinja2", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "scipy"}
COMPLETED = {"_PHILLY_COMPLETE": "complete_bash", "COMP_WORDS": "philly ana", "COMP_CWORD": "1"}
CALL = "import philly_analysis.cli\ntry: philly_analysis.cli.app(prog_name='philly')\nfinally: "


@pytest.mark.parametrize(
    ("code", "words", "env", "printed"),
    quick_first(
        [
            ("import philly_analysis\n", "", {}, ""),
            (CALL, "--help", {}, "simulate"),
            (CALL, "analyze --help", {}, "--run-policy"),
            (CALL, "sweep --help", {}, "--seeds"),
            (CALL, "", COMPLETED, "analyze"),
        ],
        2,
    ),
)
def test_imports_help_and_completion_do_not_import_the_libraries_for_data(
    code: str, words: str, env: dict[str, Any], printed: str
) -> None:
    report = "import sys; print('imported:', *sys.modules)"
    done = output_of(sys.executable, "-c", code + report, *words.split(), **env)
    output, _, imported = done.rpartition("imported: ")
    assert printed in output
    assert HEAVY & set(imported.split()) == set() != set(imported.split())


def test_ingest_and_an_open_trace_import_no_library_that_they_do_not_need(path: Path) -> None:
    code = "import sys; import philly_analysis.ingest; from philly_analysis.trace import Trace; "
    code += f"jobs = Trace({str(path)!r}).jobs; len(jobs); print(*sys.modules); "
    code += "jobs.df(); print(*sys.modules)"
    opened, framed = map(str.split, output_of(sys.executable, "-c", code).splitlines())
    assert HEAVY & set(opened) == {"duckdb", "numpy", "pyarrow"}
    assert {"scipy", "matplotlib"} & set(framed) == set() != {"pandas"} & set(framed)


def test_the_data_dictionary_names_each_column() -> None:
    rows = list(csv.DictReader(io.StringIO(run("tables", "--csv"))))
    assert [(r["table"], r["column"]) for r in rows] == [
        (t.name, c.name) for t in TABLES.values() for c in t.columns
    ]


def test_tables_and_queries_are_printed_as_csv_and_json(path: Path) -> None:
    rows = {r["table"]: r["rows"] for r in json.loads(run("tables", path, "--json"))}
    assert (rows["placements"], rows["gpu_samples"]) == (13, None)
    text = "select job_id, gpus from jobs order by all"
    assert run("query", path, text, "--csv") == "job_id,gpus\na,1\nb,2\nc,8\n"
    shown = run("query", path, "select '[red]x[/red]' as \"[b]\"")
    assert "[red]x[/red]" in shown and "[b]" in shown, "text from logs is not markup"


def test_findings_are_one_json_document(path: Path) -> None:
    printed = run("analyze", path, "run_time", "overview", "--json")
    printed_document = json.loads(printed, parse_constant=pytest.fail)
    assert list(printed_document) == ["run_time", "overview"]
    with Trace(path) as trace:
        result = analyze(trace, ["run_time"])["run_time"]
    document = printed_document["run_time"]
    assert document["question"] == ANALYSES["run_time"].question
    for shown, fact in zip(document["facts"], result.facts, strict=True):
        assert (shown["name"], shown["meaning"]) == (fact.name, fact.meaning)
        value = fact.value
        exact = not isinstance(value, float)
        assert shown["value"] == (value if exact else pytest.approx(value, rel=1e-11))
    for part in ("sentences", "caveats", "warnings"):
        assert document[part] == list(getattr(result, part))
    assert len(document["table"]) == len(result.table)
    assert list(document["table"][0]) == list(result.table.columns)
    assert printed_document["overview"]["table"][0]["day"].startswith("2017-10-03")
    assert printed_document["overview"]["table"][0]["gpu_samples"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    quick_first(
        [
            (("query", "{path}", "drop table jobs"), "SELECT"),
            (("query", "{path}", "select * from gpu_samples"), "needs the table gpu_samples"),
            (("query", "nowhere", "select 1"), "not a trace"),
            (("analyze", "{path}", "nonsense"), "no analysis named 'nonsense'"),
            (("analyze", "{path}", "run_time", "overview", "--csv"), "Name one"),
            (("analyze", "{path}", "--csv"), "--out FOLDER"),
            (
                ("analyze", "{path}", "run_time", "--out", "{path}/manifest.json"),
                "cannot be written",
            ),
            (("ingest", "nonsense", "{path}", "out"), "no source named 'nonsense'"),
            (("report", "nowhere"), "not a trace"),
            (("report", "nowhere"), "Make one with philly ingest SOURCE RAW OUT"),
            (("fit", "{path}", "{path}"), "a folder: name a file in it"),
            (("fit", "{path}", "{path}/no/model.json"), "there is no folder"),
            (("ingest", "auto", "{path}/jobs.parquet", "out"), "no source recognises"),
            (("sample", "philly", "{path}", "--jobs", "9"), "or --force to replace it"),
        ],
        6,
    ),
)
def test_a_mistake_is_one_line_and_exit_1(path: Path, words: tuple[str, ...], message: str) -> None:
    done = invoke(*(w.format(path=path) for w in words))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert message in done.stderr


@pytest.mark.parametrize(
    ("words", "among"),
    [
        ("philly anal", {"analyses", "analyze"}),
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
    out = run("simulate", path, "fifo", tmp_path / "what-if")
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
    sampled = run("sample", "philly", tmp_path / "jobs", "--jobs", "40")
    exported = run("export", tmp_path / "jobs", "swf", tmp_path / "jobs.swf")
    for out in (sampled, exported):
        assert "note: Only passed jobs" in " ".join(out.split())
