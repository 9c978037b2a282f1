"""Check the calls of the documentation, and the errors of mistyped names and arguments."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import duckdb
import matplotlib.pyplot as plt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from typer.core import TyperGroup
from typer.main import get_command

import philly_analysis as philly
from philly_analysis import api
from philly_analysis.analyses import FRONT, TRUST
from philly_analysis.cli import app
from philly_analysis.cli.console import as_typed
from philly_analysis.errors import UnknownNameError
from philly_analysis.report import trace_page
from philly_analysis.report.findings import CHAPTERS
from philly_analysis.trace.trace import Trace
from tests.support.clusters import random_tables, write_tables


class Session(SimpleNamespace):
    """Names in a notebook."""

    path: Path
    trace: Trace
    jobs: pl.DataFrame
    out: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("natural")
    path = write_tables(folder / "mine", random_tables(3, jobs=30))
    with Trace(path) as trace:
        jobs = trace.sql(
            "select jobs.*, started_at, ended_at from jobs join attempts using (job_id) "
            "where attempt = 1"
        ).pl()
        yield Session(philly=philly, path=path, trace=trace, jobs=jobs, out=folder)


def shown(value: Any) -> bool:
    return "<img" in value._repr_html_() and "<table" in value._repr_html_()


WORKS: dict[str, Callable[[Any], object]] = {
    # what there is
    "philly.sources()": lambda v: "slurm" in set(v["source"]),
    "philly.models()": lambda v: "philly" in set(v["model"]),
    "philly.policies()": lambda v: "fifo" in set(v["policy"]),
    "philly.tables()": lambda v: "submitted_at" in set(v["column"]),
    # a trace
    "philly.Trace(path)": lambda v: "jobs 30" in repr(v),
    "philly.Trace(jobs)": lambda v: v.tables == {"jobs", "attempts"},
    "philly.Trace(jobs.to_pandas())": lambda v: v.has("waits"),
    "philly.Trace(jobs.to_arrow())": lambda v: v.has("waits"),
    "philly.Trace({'jobs': trace.jobs.pl(), 'attempts': trace.attempts.df()})": (
        lambda v: v.waits.shape[0] > 0
    ),
    "trace.waits": lambda v: isinstance(v, duckdb.DuckDBPyRelation),
    "trace['waits'].filter('gpus > 1').limit(2)": lambda v: isinstance(v, duckdb.DuckDBPyRelation),
    "trace.sql('select 1 as one')": lambda v: isinstance(v, duckdb.DuckDBPyRelation),
    "philly.sample('philly', jobs=20).jobs": lambda v: isinstance(v, duckdb.DuckDBPyRelation),
    "trace.waits.pl()": lambda v: isinstance(v, pl.DataFrame),
    "trace.waits.to_arrow_table()": lambda v: isinstance(v, pa.Table),
    "dir(trace)": lambda v: {"waits", "jobs", "between", "where"} <= set(v),
    "trace.relations": lambda v: all(v["row"]) and "waits" in set(v["name"]),
    "trace.sql('select count(*) from waits').fetchall()": lambda v: v[0][0] > 0,
    "philly.query(path, 'select 1 as one')": lambda v: v["one"].item() == 1,
    "philly.tables(path)": lambda v: "rows" in v,
    # part of it
    "trace.between('2017-10-03', '2017-10-03 08:00')": lambda v: 0 < v.jobs.shape[0] < 30,
    "trace.where(vc='v0')": lambda v: v.jobs.select("vc").distinct().fetchall() == [("v0",)],
    "trace.where(vc=['v0', 'v1'], status='Failed')": lambda v: v.has("waits"),
    "trace.where('gpus > 2')": lambda v: v.jobs.min("gpus").fetchall()[0][0] > 2,
    "philly.compare(trace.where(vc='v0'), trace.where(vc='v1'))": lambda v: v.sentences,
    # findings
    "philly.analyze(path, 'queueing_delay')": shown,
    "philly.analyze(trace, 'queueing_delay')": shown,
    "philly.analyze(trace, 'queueing_delay', 'run_time')": shown,
    "philly.analyze(jobs, 'queueing_delay')": shown,
    "philly.analyze(path, 'queueing_delay').plot()": lambda v: v._repr_png_()[:4] == b"\x89PNG",
    "philly.analyze(path, 'queueing_delay').table": lambda v: isinstance(v, pd.DataFrame),
    "philly.analyze(path, 'queueing_delay').sentences": lambda v: v[0].endswith("."),
    "philly.analyze(path, 'queueing_delay').facts": lambda v: (
        v[0].text and "<td" in v._repr_html_()
    ),
    "philly.analyze(path, 'run_time').facts['jobs']": lambda v: v > 0,
    "philly.analyze(path, 'run_time').to_csv(out / 'a.csv')": lambda v: v.is_file(),
    "philly.analyze(path, 'run_time').to_csv()": lambda v: v.startswith("gang,"),
    # models and what-ifs
    "philly.load_model('philly')": lambda v: "<table" in v._repr_html_(),
    "philly.sample('philly', jobs=20)": lambda v: len(v) == v.jobs.shape[0] == 20,
    "philly.fit(path, family='empirical').gang_size.pmf(1)": lambda v: 0 <= v <= 1,
    "philly.simulate(path, 'fifo', out / 'what-if')": lambda v: v.waits.shape[0],
    "philly.simulate(jobs, 'fifo', out / 'frames-if', cluster=64)": lambda v: v.waits.shape[0],
    "philly.export(trace, 'swf', out / 'jobs.swf')": lambda v: v.path == Path(v.file) and str(v),
}

EXPLAINED = {
    "philly.Trace(out)": r"not a trace.*ingest\(SOURCE, RAW, OUT\)",
    "philly.Trace(3)": "int is no table.*frame of pandas",
    "philly.Trace(jobs.select('job_id'))": "lacks submitted_at",
    "philly.analyze(path, lambda trace: 3)": "Return a Result",
    "philly.analyze(trace.where(vc='v0'), 'delay_causes')": "needs all jobs of a trace",
    "trace.between('now', 'then')": "timestamp",
    "trace.where(vc='nobody')": "no job with vc “nobody”. Its jobs have vc v0, v1",
    "trace.between('2030-01-01')": r"Its jobs were submitted from (2017-10\S+ \S+) to (?!\1)",
    "trace.sql('select gpu from jobs')": 'Candidate bindings: "gpus"',
    "philly.export(trace, 'swf', out / 'mine' / 'manifest.json')": "force=True",
    "philly.ingest('philly', path, path)": "append=True",
}

UNKNOWN = {
    "philly.analyze(path, 'queing_delay')": "queueing_delay",
    "trace['wait']": "waits",
    "trace.sql('select * from wait')": "waits",
    "trace.where(usr='a')": "user",
    "philly.analyze(path, 'run_time').facts['job']": "jobs",
    "philly.analyze(path, 'run_time', 'usage')['runtime']": "run_time",
    "philly.analyze(path, 'run_time').plot(style='columns')": "column",
    "philly.simulate(path, 'SRFT')": "srtf",
    "philly.load_model('phily')": "philly",
    "philly.sample('phily', jobs=10)": "philly",
    "philly.export(trace, 'swff', out / 'a.swf')": "swf",
    "philly.ingest('slrum', path)": "slurm",
    "philly.fetch('heliós')": "helios",
    "philly.policies('fifi')": "fifo",
    "philly.fit(path, family='lognormol')": "lognormal",
    "philly.Trace(path, run_policy='sun')": "sum",
}
"""Names that are in no list, and the nearest name of the list."""

REFUSED = (
    "philly.simulate('philly', 'fifo', size=64)",
    "philly.simulate('philly', 'fifo', n=64)",
    "philly.ingest(path)",
    "philly.fit(path, dist='lognormal')",
    "philly.sample('philly', count=10)",
    "philly.load_model('philly').duration(gang=8)",
    "philly.analyze(path, 'run_time').plot(color='red')",
)
"""Calls with unknown or missing arguments."""

ABSENT = {
    "trace.wait": "no table or relation named 'wait'. Did you mean 'waits'",
    "philly.analyze(path, 'run_time').facts.job": "no fact named 'job'. Did you mean 'jobs'",
    "philly.simulat": "no attribute 'simulat'",
    "trace.jobs.sort_values": "does not contain a column by the name of 'sort_values'",
    "philly.load_model('philly').rvs": "no attribute 'rvs'",
}
"""Attributes that are absent, and Python's or DuckDB's error."""


@pytest.mark.parametrize("typed", WORKS)
def test_it_works(typed: str, place: Session) -> None:
    assert WORKS[typed](eval(typed, vars(place)))  # noqa: S307 - the tables above
    plt.close("all")


@pytest.mark.parametrize("typed", EXPLAINED)
def test_an_error_has_the_cause_and_a_remedy(typed: str, place: Session) -> None:
    with pytest.raises(philly.PhillyError, match=EXPLAINED[typed]) as raised:
        eval(typed, vars(place))  # noqa: S307 - the tables above
    assert "--" not in str(raised.value), "Python's names in Python"
    for word in ("philly ", "`philly"):
        assert word not in str(raised.value)


@pytest.mark.parametrize("typed", UNKNOWN)
def test_an_unknown_name_has_the_nearest_one_in_its_error(typed: str, place: Session) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{UNKNOWN[typed]}'"):
        eval(typed, vars(place))  # noqa: S307


@pytest.mark.parametrize("typed", REFUSED)
def test_an_unknown_argument_is_a_type_error(typed: str, place: Session) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument|missing 1 required"):
        eval(typed, vars(place))  # noqa: S307


@pytest.mark.parametrize("typed", ABSENT)
def test_an_absent_attribute_is_an_attribute_error(typed: str, place: Session) -> None:
    with pytest.raises(AttributeError, match=ABSENT[typed]):
        eval(typed, vars(place))  # noqa: S307


def test_a_mistyped_column_is_an_immediate_error_of_duckdb(place: Session) -> None:
    with pytest.raises(duckdb.BinderException, match='Candidate bindings: "gpus"'):
        place.trace.jobs.filter("gpuss > 3")


def test_verbs_are_functions_also_after_their_packages_were_imported() -> None:
    verbs = {verb.__name__: verb for verb in api.VERBS}
    for name in verbs:
        with suppress(ModuleNotFoundError):
            importlib.import_module(f"philly_analysis.{name}")
    assert {n: getattr(philly, n) for n in verbs} == verbs
    assert all(inspect.isfunction(verb) for verb in verbs.values())
    assert type(philly) is ModuleType


def test_the_command_line_translates_messages() -> None:
    def typed(message: str) -> str:
        verbs = get_command(app)
        assert isinstance(verbs, TyperGroup)
        return as_typed(message, verbs)

    assert typed("Replace it with force=True.") == "Replace it with --force."
    assert (
        typed("Make one with ingest(SOURCE, RAW, OUT).")
        == "Make one with philly ingest SOURCE RAW OUT."
    )
    assert typed("e.g. machines='552x8'.") == "e.g. --machines 552x8."
    assert typed("give its path as throughputs=PATH.") == "give its path as --throughputs PATH."
    assert typed("knob restart_s=5 (of 3)") == "knob restart_s=5 (of 3)", "not the shell's"


@pytest.mark.slow
def test_user_defined_analyses_are_on_the_page(
    place: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        trace_page,
        "CHAPTERS",
        {name: CHAPTERS[name] for name in (FRONT, TRUST)},
    )

    def big_gangs(trace: philly.Trace) -> philly.Result:
        """Do larger gangs wait longer?"""
        table = trace.sql("select gpus, median(wait_s) as wait_s from waits group by all").df()
        most = f"At most {table['wait_s'].max():,.0f} s in the median."
        return philly.Result(
            "big_gangs",
            table,
            sentences=(most,),
            draw=lambda r: r.table.plot.bar("gpus", "wait_s"),
        )

    def plain(trace: philly.Trace) -> philly.Result:
        """How many jobs are there?"""
        return philly.Result("plain", trace.sql("select count(*) as jobs from jobs").df())

    result = philly.analyze(place.trace, big_gangs)
    assert result.question == "Do larger gangs wait longer?"
    assert result.name == "big_gangs" and result.reads == ("waits",)
    assert isinstance(result.plot(), Figure)
    few = place.trace.where("gpus > 2")
    assert "Only the" in philly.analyze(few, plain).caveats[0]
    page = philly.report(few, place.out / "reports", also=[big_gangs, plain]).path
    text = page.read_text("utf-8")
    assert text.index("Your own") < text.index("Do larger gangs wait longer?")
    assert "waits.sql" in text and (page.parent / "tables" / "plain.csv").is_file()
    assert (page.parent / "figures" / "big_gangs.svg").is_file()
    assert not (page.parent / "figures" / "plain.svg").exists()
    assert "the jobs that were not chosen" in text, "what a part cannot answer"
    plt.close("all")
