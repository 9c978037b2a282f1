"""Check with and without a browser that hostile names on a page run no script."""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from philly_analysis import compare, ingest, report
from tests.hostile.mutation import NAMES
from tests.ingest.conftest import attempt, job, write_archive

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHORT = [name for name in (*NAMES, "$\\frac{$ $x^$") if name.strip() and len(name) < 300]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Glyph"),  # what the font of the figures lacks
]


def hostile_trace(folder: Path) -> Path:
    """Ingest a trace whose users, queues, jobs, machines, output and name are hostile."""
    jobs, output = [], []
    for i in range(300):
        name, other = SHORT[i % len(SHORT)], SHORT[(i * 7 + 3) % len(SHORT)]
        start, end = f"2017-10-{9 + i % 15:02} 07:{i % 60:02}:00", f"2017-10-{10 + i % 15} 08:00:00"
        held = {other: 1 + i % 8, name: i % 3}
        jobs.append(
            job(
                f"{name}{i}",
                [attempt(start, end, **held)],
                vc=name,
                user=other,
                status=("Pass", "Failed", "Killed")[i % 3],
                submitted_time=f"2017-10-{9 + i % 15:02} 06:00:00",
            )
        )
        text = f"{name}\nRuntimeError: CUDA out of memory. {other}\n{name}"
        output.append(json.dumps({"job_id": f"{name}{i}", "text": text}))
    (folder / "output.jsonl").write_text("\n".join(output))
    raw = write_archive(folder / "raw", jobs)
    out = folder / "trace"
    ingest(
        "philly",
        raw,
        out,
        failures=folder / "output.jsonl",
        name="<script>document.title='ran'</script>",
        quotas=dict.fromkeys(SHORT[:8], 8),
    )
    return out


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    trace = hostile_trace(folder)
    written = [report(trace, folder / "reports").path]
    compare(trace, trace, out=folder / "compared")
    return written + sorted((folder / "compared").rglob("*.html"))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.policy = ""
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.scripts += tag == "script"
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"] or ""
        for name, value in attrs:
            if name.startswith("on") or (value or "").lower().startswith("javascript:"):
                self.wrong.append(f"{tag} {name}={value}")
            if name in ("src", "href", "xlink:href") and (value or "").startswith(("http:", "//")):
                self.wrong.append(f"{tag} {name}={value}")
        if tag in ("iframe", "object", "embed", "base", "form"):
            self.wrong.append(tag)


def test_names_are_escaped_and_the_content_policy_is_strict(pages: list[Path]) -> None:
    assert len(pages) > 1
    for page in pages:
        tags = _Tags()
        tags.feed(page.read_text("utf-8"))
        assert tags.wrong == [] and tags.scripts <= 1, page
        rules = dict(rule.strip().split(" ", 1) for rule in tags.policy.split(";") if rule.strip())
        assert rules["default-src"] == "'none'", tags.policy
        scripts = rules.get("script-src", "'none'")
        assert "unsafe" not in scripts and "*" not in scripts and "http" not in scripts
        assert scripts == "'none'" or scripts.startswith("'sha256-")


def title(page: Path) -> str:
    """Return the title of a page after its scripts have run in a browser."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000")
    command = [str(CHROMIUM), *flags, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.split("<title>")[1].split("</title>")[0]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
@pytest.mark.parametrize("policy", [True, False], ids=["as it is", "without its policy"])
def test_no_script_in_a_name_runs_in_a_browser(pages: list[Path], *, policy: bool) -> None:
    assert "document.title" in pages[0].read_text("utf-8"), "names are shown"
    for page in pages:
        text = page.read_text("utf-8")
        if not policy:
            text = text.replace("Content-Security-Policy", "x-none")
        shown = page.with_name(f"shown-{policy}.html")
        shown.write_text(text, "utf-8")
        assert title(shown).strip() not in ("", "ran")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
def test_a_script_that_runs_is_detected(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<html><head><title>x</title></head><body>{SHORT[0]}</body></html>")
    assert title(page) == "ran"
