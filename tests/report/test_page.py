"""Check the page of a report: sections, facts, escaping, links, gaps, replacement."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from markupsafe import Markup, escape

from philly_analysis import analyze, ingest, report
from philly_analysis.analyses import CHAPTERS as TRACE_CHAPTERS
from philly_analysis.analyses import FRONT
from philly_analysis.errors import TraceError
from philly_analysis.ingest import IngestOptions
from philly_analysis.report import sample_page, trace_page
from philly_analysis.report.findings import ANALYSES, CHAPTERS, lacking, relevant
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Card, Chapter, section
from philly_analysis.results import Comparison, Result, figures
from philly_analysis.results.formatting import bind_units, number
from philly_analysis.trace.relations import relations, required_relations
from philly_analysis.trace.trace import Trace
from tests.bench.jobs import write_log
from tests.support.clusters import trace_of
from tests.support.facts import verdict
from tests.support.html_page import Page
from tests.support.repository import SAMPLE
from tests.support.small_traces import ATTEMPTS, JOBS, paper_trace

SILENT = {"calibration"}
"""Findings that have no row on a trace of three jobs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    hostile = "<script>alert(1)</script>"
    jobs = JOBS.with_columns(vc=pl.lit(hostile), user=pl.lit('"><img src=x onerror=alert(1)>'))
    path = paper_trace(folder / "paper", jobs=jobs)
    return report(path, folder / "out").html


def test_the_sample_is_ingested_once_and_reported_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[object, ...]] = []

    def ingest(options: IngestOptions) -> None:
        made.append((options.raw, options.out))
        paper_trace(Path(options.out))

    monkeypatch.setattr(sample_page, "ingest", ingest)
    monkeypatch.setattr(sample_page, "report", lambda *paths: made.append(paths))
    for _ in range(2):
        sample_page.demo(tmp_path / "new")
    trace, reports = tmp_path / "new" / "sample", tmp_path / "new" / "reports"
    assert made == [(SAMPLE, trace), (trace, reports), (trace, reports)]


def test_each_finding_with_its_tables_has_a_section(page: str, folder: Path) -> None:
    with Trace(folder / "paper") as trace:
        gaps = [n for n in relevant(trace) if lacking(trace, n)]
        askable = [n for n in ANALYSES if n in relevant(trace) and n not in gaps]
    assert Page(page).sections == [n for n in askable if n not in SILENT]
    assert {"time_asked", "host_util"} <= set(gaps), "a column, a table"
    assert not {*gaps, *askable} & {a.name for a in ANALYSES.values() if a.study_only}, (
        "another cluster's page"
    )
    assert "What this trace cannot answer" in page


def test_each_section_shows_its_facts_and_every_file_that_it_was_computed_by(
    page: str, folder: Path
) -> None:
    sections = dict(re.findall(r'<section [^>]*id="(\w+)">(.*?)</section>', page, re.DOTALL))
    with Trace(folder / "paper") as trace:
        results = analyze(trace)
    assert sections.keys() == results.keys() - SILENT
    for name in sections:
        result, text = results[name], sections[name].replace("<wbr>", "")
        for fact in result.facts:
            assert f"<td><code>{escape(fact.name)}</code></td>" in text, fact
        shown = re.findall(r'<a href="#sql-(\w+)">', text)
        # without its first choice of tables an analysis reads another relation
        otherwise = {"why_failures": "started_jobs", "how_used": "idle_gpus"}.get(name, name)
        assert name not in relations() or otherwise in shown
        assert set(shown) == {r.name for r in required_relations(result.reads)[0]}
        for read in shown:
            assert page.count(f'id="sql-{read}"') == 1
            assert page.count(str(escape(relations()[read].sql))) == 1


def test_all_that_the_page_shows_is_kept_in_the_trace(page: str, folder: Path) -> None:
    [answers] = (folder / "paper" / "derived").glob("answers-span-*")
    for suffix in (".parquet", ".svg"):
        names = {f.name.partition("-")[0] for f in answers.glob(f"*{suffix}")}
        assert names == {*Page(page).sections, *(SILENT if suffix == ".parquet" else ())}


def test_text_from_logs_is_escaped(page: str) -> None:
    assert len(re.findall(r"<script>|<script(?! type=\"application/)", page)) == 1, "our own"
    assert "img" not in Page(page).tags
    assert "alert(1)" in page


def test_the_content_security_policy_allows_only_our_script_and_style(page: str) -> None:
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    [style] = re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL)
    rules = dict(rule.strip().split(" ", 1) for rule in unescape(policy).split(";"))
    assert rules["default-src"] == "'none'"
    for kind, text in (("script-src", script), ("style-src", style)):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"
    assert Page(page).styles == []
    for word in ("fetch(", "XMLHttpRequest", "import(", "eval("):
        assert word not in script


def test_every_row_of_a_long_table_is_in_the_page(page: str, folder: Path) -> None:
    with Trace(folder / "paper") as trace:
        waits = analyze(trace, "queueing_delay").table
    [packed] = re.findall(r'id="rows-queueing_delay">([^<]+)<', page)
    rows = json.loads(gzip.decompress(b64decode(packed)))
    assert rows["columns"] == list(waits.columns)
    percentiles = rows["cells"][rows["columns"].index("percentile")]
    assert [float(p) for p in percentiles] == [float(f"{p:.4g}") for p in waits["percentile"]]


def test_the_first_screen_and_the_page_are_within_their_budgets(page: str) -> None:
    assert len(page.encode()) < 3_000_000
    assert len(page[: page.index('<nav aria-label="Contents">')].encode()) < 200_000


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [20_000, 1_000_000])
def test_pages_of_many_jobs_users_and_servers_are_within_their_budgets(
    jobs: int, tmp_path: Path
) -> None:
    write_log(tmp_path / "sacct.txt", jobs)
    ingest("slurm", tmp_path / "sacct.txt", tmp_path / "many")
    written = report(tmp_path / "many", tmp_path / "out").path
    text = written.read_bytes()
    assert len(text[: text.index(b'<nav aria-label="Contents">')]) < 200_000
    assert len(text) + written.with_name("entries.html").stat().st_size < 3_000_000


def test_the_page_loads_nothing_and_every_link_has_a_target(page: str, folder: Path) -> None:
    ids = Page(page).ids
    for address in Page(page).addresses:
        if address.startswith("#"):
            assert ids.count(address[1:]) == 1, address
        else:
            file, _, fragment = address.partition("#")
            other = (folder / "out" / "paper" / file).read_text("utf-8")
            assert not fragment or fragment.startswith("job-") or f'id="{fragment}"' in other
    assert not re.search(r"url\((?!#)", page)


def test_the_page_opens_with_the_three_answers(page: str, folder: Path) -> None:
    with Trace(folder / "paper") as trace:
        results = analyze(trace, ["why_waits", "how_used", "why_failures"])
    first = page[: page.index('<nav aria-label="Contents">')]
    for result in results.values():
        assert f'<h2><a href="#{result.name}">{escape(result.question)}</a></h2>' in first
        answer = verdict(result)
        number = f": <b>{bind_units(answer.number)}</b>" if answer.number else ""
        assert f'<p class="headline">{escape(answer.label)}{number}</p>' in first
        for text in (answer.noun, answer.cost, answer.trend, answer.advice):
            assert escape(bind_units(text)) in first
    assert "jobs submitted" not in first, "counts are of the provenance"


def test_no_line_ends_between_a_number_and_its_unit_and_code_is_left_as_it_is(page: str) -> None:
    text = unescape(re.sub(r"<pre.*?</pre>|<svg.*?</svg>", "", page, flags=re.DOTALL))
    broken = re.findall(r".{20}\d (?:%|GPU h|GPU\xa0h|s|min|h|GB|days|weeks)(?!\w)", text)
    assert broken == []
    assert len(re.findall(r"\d\xa0(?:%|GPU\xa0h|s|min|h|GB|days|weeks)(?!\w)", text)) > 50
    assert not any("\xa0" in code for code in re.findall(r"<pre.*?</pre>", page, re.DOTALL))
    assert "\xa0" not in page[: page.index("</head>")].replace("<title>", "")


def test_a_line_names_what_a_trace_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_page, "CHAPTERS", {FRONT: CHAPTERS[FRONT]})
    path = trace_of(tmp_path / "t", JOBS, ATTEMPTS)
    first = report(path, tmp_path / "out").html
    assert "Not recorded" not in first
    assert "Not in this log: <b>" in first
    assert "</b> Collect GPU utilisation over time (gpu_samples), or " in first


def test_a_figure_is_described_without_markup(tmp_path: Path) -> None:
    fig, [ax] = figures.canvas()
    ax.plot([0, 1])
    said = Markup('Type <code>sbatch <span class="option">--gres</span></code>, "now".')
    sentences = (said, "It is <b> 1.")
    result = Result("one", pd.DataFrame({"x": [1]}), sentences=sentences, draw=lambda _: fig)
    cards = [Card("one", "What to do?", section("one", "What to do?", result))]
    written = results_page("t", "l", [], tmp_path / "page", cards=cards).read_text("utf-8")
    [label] = re.findall(r'<figure role="img" aria-label="([^"]*)"><div', written)
    assert unescape(label) == 'Type sbatch --gres, "now". It is <b> 1.'


def test_differences_from_published_numbers_have_a_sign(tmp_path: Path) -> None:
    rows = [Comparison("jobs", 3, measured, "", "here", "why") for measured in (5.5, 1, None)]
    result = Result("one", pd.DataFrame({"x": [1]}), comparisons=rows)
    chapter = Chapter("Numbers", (section("one", "How many?", result),))
    written = results_page("t", "l", [chapter], tmp_path / "page", cards=[]).read_text("utf-8")
    shown = re.findall(r'<td class="num">([^<]*)</td><td></td><td>here</td>', written)
    assert shown == ["+2.50", "-2", "–"]


def test_the_page_and_every_figure_are_marked_synthetic(page: str) -> None:
    assert "Synthetic data." in page
    figures = re.findall(r"<figure .*?</figure>", page, re.DOTALL)
    bare = [figure for figure in figures if ">synthetic data<" not in figure]
    assert len(figures) > 20
    assert [f in page.partition('id="other_months"')[2] for f in bare] == [True], "of other data"


@pytest.mark.slow
def test_a_report_replaces_only_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_page, "CHAPTERS", {"Run": (ANALYSES["run_policy"],)})
    path = paper_trace(tmp_path / "t")
    first = report(path, tmp_path / "out").path
    assert report(path, tmp_path / "out").path == first
    assert sorted(f.name for f in first.parent.iterdir()) == [
        "entries.html",
        "figures",
        "report.html",
        "tables",
    ]
    (tmp_path / "mine" / "t").mkdir(parents=True)
    with pytest.raises(TraceError, match="not a report"):
        report(path, tmp_path / "mine")


@pytest.mark.slow
def test_a_finding_without_a_row_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chapters = {"Waiting": (ANALYSES["queueing_delay"],), "Trust": (ANALYSES["overview"],)}
    monkeypatch.setattr(trace_page, "CHAPTERS", chapters)
    never_started = ATTEMPTS.with_columns(started_at=pl.lit(None, pl.Datetime))
    path = trace_of(tmp_path / "t", JOBS, never_started)
    text = report(path, tmp_path / "out").html
    assert 'id="queueing_delay"' not in text and 'id="overview"' in text
    [line] = re.findall(r"<li>(How long is the queueing delay.*?)</li>", text)
    assert line.endswith("The log has no waits: no attempt has a known submission and start.")


@pytest.mark.slow
def test_findings_without_a_row_are_listed_in_the_order_of_their_chapters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("queueing_delay", "queueing_delay_by_group", "calibration")
    monkeypatch.setattr(trace_page, "CHAPTERS", {"Waiting": tuple(ANALYSES[n] for n in names)})
    each = trace_page.compute_each
    monkeypatch.setattr(trace_page, "compute_each", lambda *args: reversed(list(each(*args))))
    never_started = ATTEMPTS.with_columns(started_at=pl.lit(None, pl.Datetime))
    path = trace_of(tmp_path / "t", JOBS, never_started)
    text = report(path, tmp_path / "out").html
    assert re.findall(r"<li>([^<]*?\?) ", text) == [ANALYSES[n].question for n in names]


def test_every_analysis_module_is_in_a_chapter() -> None:
    folder = Path(__file__).parents[2] / "philly_analysis" / "analyses"
    modules = {f.stem for f in folder.glob("*.py")} - {"__init__", "chapters"}
    listed = {a.name for chapter in TRACE_CHAPTERS.values() for a in chapter}
    assert modules == listed
    assert all(a.compute.__module__.endswith(f".{a.name}") for a in ANALYSES.values())
    validating = {
        f.stem
        for f in (folder.parent / "models" / "validation").glob("*.py")
        if "ANALYSIS = " in f.read_text()
    }
    assert set(ANALYSES) - listed == validating
    assert all(CHAPTERS.values())


@pytest.mark.slow
def test_a_finding_independent_of_a_synthetic_trace_is_not_synthetic(tmp_path: Path) -> None:
    with Trace(paper_trace(tmp_path / "t")) as trace:
        results = analyze(trace, ["overview", "calibration", "philly_like"])
    assert {name: r.synthetic for name, r in results.items()} == {
        "overview": True,
        "calibration": True,
        "philly_like": False,
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (1234567, "1,234,567"),
        (0.1234, "0.12"),
        (45.67, "45.7"),
        (456.7, "457"),
        (12345.6, "12,346"),
        (0.0, "0"),
    ],
)
def test_number_format(value: float | None, text: str) -> None:
    assert number(value) == text
