"""Check the summary of a trace: text, JSON by its schema, Markdown, and metrics for Prometheus."""

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import polars as pl
import pytest

from philly_analysis import summary
from philly_analysis.errors import OutputError
from philly_analysis.report import Summary
from philly_analysis.report.summarising import SCHEMA
from philly_analysis.results import Fact, Result, Verdict
from philly_analysis.trace import Manifest
from tests.support.command_line import invoke
from tests.support.repository import DOCS
from tests.support.small_traces import JOBS, paper_trace

HOSTILE = '*b* <i>"q"</i>\\\n[x](y) \x1b[31m'


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of a few jobs whose user has a hostile name."""
    jobs = JOBS.with_columns(user=pl.lit(HOSTILE))
    return paper_trace(tmp_path_factory.mktemp("summary") / "paper", jobs=jobs)


@pytest.fixture(scope="module")
def summarised(trace: Path) -> Summary:
    return summary(trace)


def made(*facts: Fact) -> Summary:
    """Return a summary of one finding with these facts, and a hostile answer."""
    result = Result("waits", pl.DataFrame().to_pandas(), facts, question=HOSTILE)
    answer = Result(
        "why_waits", result.table, question="Why?", verdict=Verdict(HOSTILE, "50 %", "of waiting")
    )
    manifest = Manifest(name=HOSTILE, source="slurm", synthetic=False)
    return Summary(manifest, (), {"waits": result, "why_waits": answer})


def validate(document: object) -> None:
    """Check a summary against its schema."""
    import jsonschema  # takes seconds

    jsonschema.validate(document, json.loads(SCHEMA.read_text("utf-8")))


def test_the_document_has_every_fact_and_meets_its_schema(summarised: Summary) -> None:
    document = json.loads(summarised.to_json())
    validate(document)
    listed = {(fact["finding"], fact["fact"]) for fact in document["facts"]}
    ends = re.compile("_(?:low|high)(?=_|$)")
    for name, result in summarised.results.items():
        for fact in result.facts:
            assert {(name, fact.name), (name, ends.sub("", fact.name))} & listed, fact.name
    [jobs] = [f for f in document["facts"] if (f["finding"], f["fact"]) == ("overview", "jobs")]
    assert jobs["value"] == len(JOBS)


def test_ends_of_an_interval_are_columns_of_its_fact() -> None:
    facts = made(
        Fact("idle_pct", 4.0, "idle"),
        Fact("idle_low_pct", 1.0, "lower end"),
        Fact("idle_high_pct", 9.0, "upper end"),
        Fact("lowest_s", 2.0, "shortest wait"),
        Fact("p_low", 0.1, "of nothing"),
    ).facts.set_index("fact")
    assert facts.index.tolist() == ["idle_pct", "lowest_s", "p_low"]
    ends = facts[["value", "low", "high", "unit"]].to_dict("index")
    assert ends["idle_pct"] == {"value": 4, "low": 1, "high": 9, "unit": "%"}
    assert facts.loc["lowest_s", ["low", "high"]].isna().all()


def test_names_of_a_log_are_escaped() -> None:
    hostile = made(Fact("wait_s", 1.5, HOSTILE))
    assert "\x1b" not in str(hostile) + hostile.to_markdown() + hostile.to_openmetrics()
    assert r"\*b\* \<i\>" in hostile.to_markdown()
    metrics = hostile.to_openmetrics()
    assert r'trace="*b* <i>\"q\"</i>\\\n[x](y)' in metrics
    assert "philly_waits_wait_s{" in metrics
    assert metrics.count("\n") == 7  # no line of a name's own
    validate(hostile.to_dict())


@pytest.mark.parametrize("suffix", [".json", ".md", ".prom", ".txt"])
def test_a_file_has_the_form_of_its_suffix(
    summarised: Summary, tmp_path: Path, suffix: str
) -> None:
    file = summarised.save(tmp_path / f"summary{suffix}")
    forms = {
        ".json": summarised.to_json(),
        ".md": summarised.to_markdown(),
        ".prom": summarised.to_openmetrics(),
        ".txt": str(summarised),
    }
    assert file.read_text("utf-8") == forms[suffix]
    with pytest.raises(OutputError, match=r"one of \.json, \.md, \.prom, \.txt"):
        summarised.save(tmp_path / "summary.pdf")


def test_the_command_prints_each_form(summarised: Summary, trace: Path) -> None:
    assert invoke("summary", str(trace)).stdout.split() == str(summarised).split()
    assert invoke("summary", str(trace), "--json").stdout.strip() == summarised.to_json()
    assert invoke("summary", str(trace), "--markdown").stdout.strip() in summarised.to_markdown()
    assert invoke("summary", str(trace), "--openmetrics").stdout.endswith("# EOF\n\n")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def served(*command: str | Path) -> Iterator[None]:
    """Run a server until the context closes."""
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def query(port: int, expression: str) -> list[dict[str, object]]:
    url = f"http://127.0.0.1:{port}/api/v1/query?query={quote(expression)}"
    with urlopen(url, timeout=5) as answer:
        rows: list[dict[str, object]] = json.load(answer)["data"]["result"]
        return rows


@pytest.mark.slow
def test_a_real_prometheus_reads_the_metrics(summarised: Summary, tmp_path: Path) -> None:
    for program in ("prometheus", "prometheus-node-exporter", "promtool"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed (Debian: prometheus)")
    summarised.save(tmp_path / "philly.prom")
    exporter, server = free_port(), free_port()
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n"
        f"- {{job_name: node, static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]}}\n"
    )
    with (
        served(
            *("prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}"),
            *("--collector.disable-defaults", "--collector.textfile"),
            f"--collector.textfile.directory={tmp_path}",
        ),
        served(
            *("prometheus", f"--config.file={tmp_path / 'prometheus.yml'}"),
            *(f"--storage.tsdb.path={tmp_path / 'db'}", f"--web.listen-address=127.0.0.1:{server}"),
        ),
    ):
        rows: list[dict[str, object]] = []
        deadline = time.monotonic() + 60
        while not rows and time.monotonic() < deadline:
            time.sleep(0.5)
            with suppress(URLError):  # it is starting
                rows = query(server, "philly_overview_jobs")
        [row] = rows
        value = row["value"]
        assert isinstance(value, list)
        assert float(value[1]) == len(JOBS)
        assert not query(server, "node_textfile_scrape_error > 0")


@pytest.mark.slow
def test_the_dashboard_shows_metrics_that_exist(sample_trace: Path) -> None:
    text = (DOCS / "static" / "grafana-dashboard.json").read_text("utf-8")
    shown = set(re.findall(r"philly_\w+(?=\{)", text))
    assert len(shown) > 10
    assert shown <= set(re.findall(r"^philly_\w+", summary(sample_trace).to_openmetrics(), re.M))
