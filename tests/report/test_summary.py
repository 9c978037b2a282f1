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

import pandas as pd
import polars as pl
import pytest

from philly_analysis import ingest, summary
from philly_analysis.errors import OutputError
from philly_analysis.report import Summary
from philly_analysis.report.summarising import SCHEMA
from philly_analysis.report.week_change import week_changes
from philly_analysis.results import Fact, Result, Verdict
from philly_analysis.trace import Manifest
from tests.support.command_line import invoke
from tests.support.public_traces import LOGS
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


REAL = {
    "Philly passed": ("", "philly-passed"),
    "Philly attempts": ("", "philly-attempts"),
    "Microsoft ITP": ("cluster10.csv.gz", "itp-2021"),
    "Alibaba openb": ("", "alibaba-openb-2023"),
    "MIT SuperCloud": ("", "mit-supercloud-2021"),
    "ThetaGPU": ("", "thetagpu-2023"),
    "Philly first 15k": ("", "philly-first-15k"),
    "Helios 15k": ("", "helios-15k"),
    "Blue Waters 15k": ("", "blue-waters-15k"),
}
"""Public logs, with the part that is read and its map."""


def meets_its_schema(trace: Path) -> None:
    document = json.loads(summary(trace).to_json())
    validate(document)
    assert document["cards"] and document["facts"]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("log", REAL)
def test_the_document_of_a_public_log_meets_its_schema(
    log: str, traces: Path, tmp_path: Path
) -> None:
    part, name = REAL[log]
    path, _ = LOGS[log]
    raw = path.partition("/")[0] if log == "Alibaba openb" else path
    ingest("table", traces / raw / part, tmp_path / "t", map=name)
    meets_its_schema(tmp_path / "t")


@pytest.mark.slow
def test_the_document_of_the_sample_meets_its_schema(sample_trace: Path) -> None:
    meets_its_schema(sample_trace)


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


def by_day(days: str, **values: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {"day": pd.date_range(days, periods=len(next(iter(values.values())))), **values}
    )


def test_the_last_week_is_compared_with_the_week_before() -> None:
    # 2026-01-05 is a Monday: weeks of 7 x 1 and 7 x 2 jobs, then three days of a third week
    jobs = [1.0] * 7 + [2.0] * 7 + [50.0] * 3
    results = {
        "overview": Result("overview", by_day("2026-01-05", jobs=jobs, gpu_h=[0.0] * 17)),
        "waits_by_day": Result(
            "waits_by_day", by_day("2026-01-11", gpu_wait_h=[8.0, 5.0], longest_s=[60.0, 7200.0])
        ),
        "usage": Result(
            "usage",
            pd.DataFrame(
                {
                    "week": ["2026-01-05", "2026-01-12", "2026-01-12"],
                    "idle_gpu_h": [1.0, 1.0, 2.0],
                    "sampled_gpu_h": [10.0, 5.0, 5.0],
                }
            ),
        ),
    }
    period = (pd.Timestamp("2026-01-05 09:00"), pd.Timestamp("2026-01-21 12:00"))
    said = [str(week) for week in week_changes(results, period)]
    assert said == [
        "jobs submitted: 14 (7 in the week before, +100 %)",
        "allocated: 0 GPU h (0 GPU h in the week before)",
        "waited: 5.00 GPU h (8.00 GPU h in the week before, -38 %)",
        "longest wait: 2 h (1 min in the week before)",
        "idle share of sampled GPU hours: 30.0 % (10.0 % in the week before, "
        "+20.0 percentage points)",
    ]
    assert week_changes(results, (period[0], pd.Timestamp("2026-01-17 12:00"))) == []
    assert week_changes(results, (period[0], pd.Timestamp("2026-01-18 12:00"))) == []
    until_sunday = week_changes(results, (period[0], pd.Timestamp("2026-01-18 23:30")))
    assert [str(week) for week in until_sunday] == said


def test_the_comparison_of_weeks_is_in_each_form() -> None:
    days = by_day("2026-01-05", jobs=[3.0] * 14, gpu_h=[1.0] * 14)
    period = (pd.Timestamp("2026-01-05"), pd.Timestamp("2026-01-19"))
    weekly = Summary(
        Manifest(name="t", source="slurm", synthetic=False),
        period,
        {"overview": Result("overview", days)},
    )
    for text in (str(weekly), weekly.to_markdown()):
        assert "Week of 2026-01-12 to 2026-01-18" in text.replace("\\", "")
        assert "jobs submitted: 21 (21 in the week before, +0 %)" in text.replace("\\", "")
    validate(weekly.to_dict())
    assert weekly.to_dict()["weeks"][0]["before"] == 21


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
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
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
