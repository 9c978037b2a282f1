"""Check that each verb of the command line does what its function does."""

import csv
import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest
from typer.core import TyperGroup
from typer.main import get_command

import philly_analysis as library
from philly_analysis.cli import app
from philly_analysis.cli.commands import COMMAND_DEFAULTS
from philly_analysis.cli.completion import COMPLETIONS
from philly_analysis.cli.what_ifs import COMMANDS
from philly_analysis.distributions import EMPIRICAL, FAMILIES
from philly_analysis.distributions.distribution import EMPIRICAL_PARAMETERS
from philly_analysis.experiments import ACROSS, EXPERIMENTS
from philly_analysis.exports.writer import FORMATS
from philly_analysis.report import experiment_pages, side_by_side, trace_page
from philly_analysis.report.findings import ANALYSES, CHAPTERS
from philly_analysis.report.sections import Section, section
from philly_analysis.results.figures import canvas
from philly_analysis.simulator import POLICIES, SPEEDS, policy_named
from philly_analysis.trace.manifest import Manifest
from tests.support.command_line import output_of, run
from tests.support.repository import ROOT
from tests.support.small_traces import paper_trace

PYTHON_ONLY = {"report": {"also"}}
"""Parameters whose values a shell cannot give."""

ONE_ARGUMENT = {"processes": "executor", "scheduler": "executor", "memory": "memory"}
"""The parameter that an option sets, where its name differs; the memory budget is none."""


def commands() -> dict[str, Any]:
    """Return the commands, by the name of their function."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return {name.replace("-", "_"): command for name, command in group.commands.items()}


def test_each_public_function_is_a_command_unless_it_takes_objects_of_python() -> None:
    functions = {n for n in library.__all__ if inspect.isroutine(getattr(library, n))}
    assert functions - {"check_policy", "load_model"} == commands().keys()


@pytest.mark.parametrize("verb", commands())
def test_a_command_has_the_summary_and_parameters_of_its_function(verb: str) -> None:
    summary = (inspect.getdoc(getattr(library, verb)) or "").split("\n")[0]
    [line] = [x for x in run("--help").splitlines() if x.split()[:1] == [verb.replace("_", "-")]]
    assert line.endswith(summary)
    declared = {p.name: p for p in commands()[verb].params}
    function = COMMANDS.get(verb, getattr(library, verb))
    parameters = inspect.signature(function).parameters
    options = {ONE_ARGUMENT.get(name, name) for name in declared}
    assert options - {
        "csv",
        "as_json",
        "markdown",
        "openmetrics",
        "memory",
        "verbose",
    } == parameters.keys() - PYTHON_ONLY.get(verb, set())
    for name, parameter in declared.items():
        assert parameter.help and not re.search(r"[*:]`|``", parameter.help), name
        absent = None if name in ONE_ARGUMENT else False
        default = parameters[name].default if name in parameters else absent
        default = COMMAND_DEFAULTS.get(f"{verb}.{name}", default)
        if default in (None, (), inspect.Parameter.empty):
            assert parameter.default is None
        else:
            assert str(getattr(parameter.default, "value", parameter.default)) == str(default)


IMPLEMENTED = {
    "classify": "failures.classify",
    "fetch": "ingest.fetch",
    "ingest": "ingest.IngestOptions",
    "kubectl_command": "ingest.kubectl_command",
    "query": "trace.query",
    "report": "report.report",
    "simulate": "simulator.simulate",
    "slurm_command": "ingest.slurm_command",
    "slurm_collect": "ingest.slurm_collect",
    "tables": "trace.tables",
    "verify": "trace.verify",
}
"""Verbs, and the functions or options of a package that implement them."""


@pytest.mark.parametrize("verb", IMPLEMENTED)
def test_a_verb_has_the_defaults_of_its_implementation(verb: str) -> None:
    package, _, name = IMPLEMENTED[verb].partition(".")
    inner = inspect.signature(getattr(import_module(f"philly_analysis.{package}"), name)).parameters
    parameters = inspect.signature(getattr(library, verb)).parameters
    assert inner.keys() - parameters.keys() <= {"retries", "workload"}
    assert parameters.keys() - inner.keys() <= {"work", "executor"}, "work may be an ensemble"
    optional = inner.keys() & parameters.keys() - {"raw", "out"}  # made in the session
    assert {n: parameters[n].default for n in optional} == {n: inner[n].default for n in optional}


@pytest.mark.parametrize("verb", dict.fromkeys(key.partition(".")[0] for key in COMPLETIONS))
def test_help_lists_the_names_that_complete(verb: str) -> None:
    listed = {line.split()[0] for line in run(verb, "--help").splitlines() if line[:3] > "  "}
    for key, choices in COMPLETIONS.items():
        if key.startswith(f"{verb}."):
            names = [name for name, meaning in choices() if meaning]
            assert names and set(names) <= listed


def pairs(table: pd.DataFrame, name: str, meaning: str) -> dict[str, str]:
    return dict(zip(table[name], table[meaning], strict=True))


REGISTRIES: dict[str, Callable[[], dict[str, str]]] = {
    "analyze.names": lambda: {name: a.question for name, a in ANALYSES.items()},
    "experiment.names": lambda: {
        **{name: experiment.question for name, experiment in EXPERIMENTS.items()},
        **{name: module.QUESTION for name, module in ACROSS.items()},
    },
    "export.dialect": lambda: {
        dialect.name: f"{name}: {dialect.program}"
        for name, format_ in FORMATS.items()
        for dialect in format_.dialects
        if len(format_.dialects) > 1
    },
    "export.format": lambda: pairs(library.formats().drop_duplicates("format"), "format", "reader"),
    "fetch.dataset": lambda: pairs(library.datasets(), "dataset", "what"),
    "fit.family": lambda: {
        **{name: ", ".join(family.names) for name, family in FAMILIES.items()},
        EMPIRICAL: ", ".join(EMPIRICAL_PARAMETERS),
    },
    "ingest.source": lambda: pairs(library.sources(), "source", "reads"),
    "policies.name": lambda: pairs(library.policies(), "policy", "what"),
    "sample.model": lambda: pairs(library.models(), "model", "fitted_on"),
    "simulate.speed": lambda: {
        name: str(speed.__doc__).partition("\n")[0] for name, speed in SPEEDS.items()
    },
}


@pytest.mark.parametrize("parameter", REGISTRIES)
def test_names_that_complete_are_those_that_the_packages_define(parameter: str) -> None:
    assert dict(COMPLETIONS[parameter]()) == REGISTRIES[parameter]()


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["philly_analysis.ingest.build", "philly_analysis.models.library"]
)
def test_a_verb_stays_a_function_whichever_package_is_imported_first(first: str) -> None:
    code = (
        f"import importlib; importlib.import_module({first!r})\n"
        "import philly_analysis as p\n"
        "print(*(callable(getattr(p, name)) for name in p.__all__))"
    )
    assert set(output_of(sys.executable, "-c", code).split()) == {"True"}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return paths: the sample's job log, raw and as a trace; a small trace; failed output."""
    folder = tmp_path_factory.mktemp("verbs")
    (folder / "raw").mkdir()
    for name in ("cluster_job_log.gz", "cluster_machine_list", "SYNTHETIC.md"):
        shutil.copy(ROOT / "data" / "sample" / name, folder / "raw")
    library.ingest("philly", folder / "raw", folder / "sample")
    (folder / "slurm-1.out").write_text("RuntimeError: CUDA out of memory.\n")
    return {
        "raw": folder / "raw",
        "sample": folder / "sample",
        "paper": paper_trace(folder / "paper"),
        "output": folder / "slurm-1.out",
    }


def cells(frame: Any) -> list[list[str]]:
    """Return a frame's cells as in the command line's CSV: real numbers have 12 digits."""
    rows = frame.astype(object).where(frame.notna(), "").to_numpy().tolist()
    digits = [[float(f"{v:.12g}") if isinstance(v, float) else v for v in row] for row in rows]
    return [[str(c) for c in frame.columns], *([str(v) for v in row] for row in digits)]


Call = tuple[tuple[str, ...], dict[str, Any]]
"""A verb with its positional arguments, and its options by parameter."""


def as_typed(call: Call) -> list[str]:
    """Return the words of a call on the command line."""
    words, options = call
    typed = list(words)
    for name, value in options.items():
        if name == "knobs":
            typed += [word for k, v in value.items() for word in ("--set", f"{k}={v}")]
        else:
            flag = f"--{name.replace('_', '-')}"
            typed += [flag] if value is True else [flag, str(value)]
    return typed


def called(call: Call) -> Any:
    """Return the result of a call in Python."""
    (verb, *arguments), options = call
    if verb == "simulate":
        options = {"cluster" if k == "machines" else k: v for k, v in options.items()}
    return getattr(library, verb)(*arguments, **options)


SELECT = "select vc, count(*) as jobs, max(status) as last from jobs group by vc order by all"
RUN_S = "select run_s from job_runs order by all"
PRINTING: list[Call] = [
    *[((verb,), {}) for verb in ("sources", "tables", "published", "models", "formats")],
    (("policies",), {}),
    (("policies", "philly"), {}),
    (("tables", "{sample}"), {}),
    (("query", "{paper}", SELECT), {}),
    (("query", "{sample}", RUN_S), {"run_policy": "sum"}),
    (("analyze", "{sample}", "queueing_delay"), {}),
    (("analyze", "{paper}", "calibration"), {}),
    (("compare", "{paper}", "{paper}"), {}),
    (("atlas", "{paper}"), {}),
    (("classify", "{output}"), {}),
]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, marks=pytest.mark.slow if call[0][0] in ("atlas", "compare") else ())
        for call in PRINTING
    ],
    ids=lambda call: " ".join(as_typed(call))[:40],
)
def test_a_verb_prints_what_its_function_returns(call: Call, paths: dict[str, Any]) -> None:
    words, options = call
    words = tuple(word.format(**paths) for word in words)
    arguments = (words[0], [words[1]]) if words[0] == "atlas" else words
    returned: Any = called((arguments, options))  # type: ignore[arg-type]
    if words[0] == "compare":
        returned = side_by_side(returned)
    expected = cells(returned.table if isinstance(returned, library.Result) else returned)
    printed = run(*as_typed((words, options)), "--csv")
    assert list(csv.reader(io.StringIO(printed))) == expected
    records = json.loads(run(*as_typed((words, options)), "--json"))
    if words[0] == "analyze":  # with its facts and sentences
        records = records[words[2]]["table"]
    assert [list(r) for r in records[:1]] == expected[:1] * bool(records)


LAS = {"thresholds_gpu_s": [60, 3600], "restart_s": 5}
WRITING: list[Call] = [
    (("ingest", "philly", "{raw}", "{out}"), {"name": "mine", "synthetic": True}),
    (("sample", "philly", "{out}"), {"jobs": 300, "gpus": 64, "seed": 7}),
    (("analyze", "{sample}", "run_time", "waits_by_day"), {"out": "{out}", "run_policy": "last"}),
    (("fit", "{sample}", "{out}"), {"family": "empirical"}),
    (("fit", "{raw}", "{out}"), {"family": "empirical", "run_policy": "last"}),
    (("export", "{sample}", "swf", "{out}"), {"load": 0.9, "machines": "8x8"}),
    (("simulate", "{sample}", "las", "{out}"), {"machines": "64x8", "knobs": LAS}),
    (("report", "{paper}"), {"out": "{out}"}),
]


@pytest.mark.parametrize(
    "call",
    [
        *WRITING[:3],
        *[pytest.param(call, marks=pytest.mark.slow) for call in WRITING[3:]],
    ],
    ids=lambda call: " ".join(call[0][:2]),
)
def test_a_verb_writes_what_its_function_writes(
    call: Call, paths: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_page, "CHAPTERS", {"Waiting": CHAPTERS["Waiting"]})
    one, other = tmp_path / "typed" / "it", tmp_path / "called" / "it"
    calls: list[Call] = []
    for out in (one, other):
        out.parent.mkdir()
        words, options = call
        options = {k: str(out) if v == "{out}" else v for k, v in options.items()}
        calls.append((tuple(word.format(**paths, out=out) for word in words), options))
    printed = run(*as_typed(calls[0]))
    called(calls[1])
    assert str(one) in printed.replace("\n", "")
    if one.is_file():
        assert one.read_bytes() == other.read_bytes()
        return
    assert names(one) == names(other) != []
    for name in names(one):
        if name.endswith(".parquet"):
            assert pl.read_parquet(one / name).equals(pl.read_parquet(other / name)), name
        elif name.endswith(".csv"):
            assert (one / name).read_bytes() == (other / name).read_bytes(), name


def names(folder: Path) -> list[str]:
    files = (f.relative_to(folder) for f in folder.rglob("*"))
    return sorted(str(f) for f in files if f.parts[0] != "derived")


@dataclass(frozen=True)
class Seeds:
    """The settings of an empty experiment."""

    seeds: tuple[int, ...] = (1, 2)
    at: float = 1.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Replace the experiments by empty ones; return the names and models that they run on."""
    ran: list[tuple[str, str]] = []

    def compute(name: str, _: object, model: str, sweep: Seeds, *, executor: object = None) -> Any:
        ran.append((name, model))
        table = pd.DataFrame({"seed": sweep.seeds})
        return library.Result(name, table, sentences=["It ran."], draw=lambda _: canvas()[0])

    def contrasts(experiment: Any, result: library.Result, model: str, at: float) -> Section:
        return section(f"{experiment.name}-{model}-contrasts", "", result)

    monkeypatch.setattr(experiment_pages, "_contrasts", contrasts)
    for name, experiment in list(EXPERIMENTS.items()):
        empty: Any = SimpleNamespace(
            name=name,
            question=experiment.question,
            sweep=Seeds(),
        )
        empty.compute = partial(compute, name)
        monkeypatch.setitem(EXPERIMENTS, name, empty)
    return ran


@pytest.mark.parametrize(
    ("named", "folder", "ran"),
    [
        pytest.param(
            (), "seeds", ["guidelines", "synergy", "amoeba", "antman"], marks=pytest.mark.slow
        ),
        pytest.param(("amoeba",), "amoeba", ["amoeba"], marks=pytest.mark.slow),
        (("antman", "amoeba"), "antman-amoeba", ["antman", "amoeba"]),
    ],
)
def test_an_experiment_runs_what_is_named_and_on_the_models_named(
    named: tuple[str, ...],
    folder: str,
    ran: list[str],
    quick: list[tuple[str, str]],
    tmp_path: Path,
) -> None:
    printed = run("experiment", *named, "--model", "thetagpu", "--out", tmp_path / "typed")
    assert quick == [(name, "thetagpu") for name in ran]
    assert str(tmp_path / "typed" / folder) in printed.replace("\n", "")
    quick.clear()
    results = library.experiment(named, out=tmp_path / "called")
    assert [*results] == [f"{name}-{model}" for name, model in quick]
    page = tmp_path / "called" / folder / "report.html"
    assert quick == [(name, model) for name in ran for model in ("literature", "philly")]
    assert {table.stem for table in (page.parent / "tables").iterdir()} == {
        f"{name}-{model}{part}" for name, model in quick for part in ("", "-contrasts")
    }


def test_an_experiment_takes_the_jobs_of_a_trace(
    quick: list[tuple[str, str]], paths: dict[str, Any], tmp_path: Path
) -> None:
    run("experiment", "amoeba", "--model", paths["paper"], "--out", tmp_path)
    assert quick == [("amoeba", Manifest.read(paths["paper"]).name)]


@pytest.mark.slow
def test_an_experiment_draws_as_many_months_as_seeds(
    quick: list[tuple[str, str]], tmp_path: Path
) -> None:
    run("experiment", "amoeba", "--seeds", 4, "--model", "itp-01", "--out", tmp_path / "typed")
    months = library.load_model("itp-01").sample(jobs=9, seeds=(7, 3))
    for seeds, drawn in ((None, [7, 3]), (1, [7])):
        library.experiment(["amoeba"], models=[months], seeds=seeds, out=tmp_path)
        rows = pd.read_csv(tmp_path / "amoeba" / "tables" / "amoeba-itp-01.csv")
        assert list(rows["seed"]) == drawn
    rows = pd.read_csv(tmp_path / "typed" / "amoeba" / "tables" / "amoeba-itp-01.csv")
    assert list(rows["seed"]) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("experiment", "words"), [("amoeba", "experiment amoeba"), ("all", "experiment")]
)
def test_make_reports_runs_the_experiment_that_is_named(experiment: str, words: str) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", "--dry-run", "reports", f"EXPERIMENT={experiment}"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, env=env).stdout
    [line] = [x for x in printed.decode().splitlines() if "philly experiment" in x]
    assert line.split("philly ")[-1].split("--jobs")[0].strip() == words


def test_every_value_of_a_knob_that_is_listed_can_be_set() -> None:
    for name in library.policies()["policy"]:
        listed = library.policies(name)
        assert all(listed["meaning"])
        settings = dict(zip(listed["knob"], listed["default"], strict=True))
        assert policy_named(name, settings) == POLICIES[name]()


def test_an_open_trace_keeps_its_run_policy(paths: dict[str, Any]) -> None:
    text = "select sum(run_s) as run_s from job_runs"
    by_policy = {
        p: library.query(paths["sample"], text, run_policy=p)["run_s"].item()
        for p in library.RunPolicy
    }
    assert len(set(by_policy.values())) == 3
    with library.Trace(paths["sample"], run_policy="last") as trace:
        assert library.query(trace, text)["run_s"].item() == by_policy[library.RunPolicy.LAST]
        with pytest.raises(library.PhillyError, match="is open with a run time"):
            library.query(trace, text, run_policy="sum")


def test_query_keeps_whole_numbers_beside_a_null(paths: dict[str, Any]) -> None:
    sql = "select unnest([2, null]) as n, unnest([[1.5::double], null]) as list order by all"
    assert json.loads(run("query", paths["paper"], sql, "--json")) == [
        {"n": 2, "list": [1.5]},
        {"n": None, "list": None},
    ]
    assert library.query(paths["paper"], "select 1 as n where false").empty
