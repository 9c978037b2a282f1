"""Check pages in a browser: layout at three widths, dark mode, print, pointer, accessibility.

The browser is a headless Chromium on the path. `$PHILLY_AXE` is the file ``axe.min.js`` of axe-core
(``make test-all`` gets it by npm). pypdf reads printed pages.
"""

import html
import json
import os
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from philly_analysis import analyze
from tests.support.report_pages import KINDS, Pages

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (390, 768, 1280)
PROBES = (Path(__file__).parent / "probes.js").read_text("utf-8")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path"),
]


@pytest.fixture(scope="module")
def page(pages: Pages) -> Path:
    return pages.page("sample")


def chromium(*words: str, errors: bool = False) -> str:
    """Return the output of Chromium, or its log of errors."""
    assert CHROMIUM
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000")
    done = subprocess.run(
        [CHROMIUM, *options, *words], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stderr if errors else done.stdout


def probed(page: Path, width: int, probe: str, scripts: str = "", *more: str) -> Any:
    """Return the result of a probe on a page of a width in pixels.

    Further arguments are for the browser.
    """
    text = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text("utf-8"))
    own = f"<script>{scripts}</script><script>{PROBES}\nanswer('{probe}')</script></body>"
    (page.parent / "probed.html").write_text(text.replace("</body>", own), "utf-8")
    outer = page.parent / "outer.html"
    outer.write_text(
        "<pre id=result></pre><script>addEventListener('message', "
        "(e) => { document.getElementById('result').textContent = e.data })</script>"
        f'<iframe src="probed.html" width="{width}" height="800"></iframe>'
    )
    dom = chromium(f"--window-size={width + 100},1000", "--dump-dom", *more, outer.as_uri())
    [answer] = re.findall(r'<pre id="result">(.*?)</pre>', dom, re.DOTALL)
    assert answer, f"no answer of {probe} at {width} pixels within a minute of the page's time"
    return json.loads(html.unescape(answer))


def bare(text: str) -> str:
    """Return a text without spaces and ligatures, which printing changes."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def test_the_script_of_the_page_runs_under_its_policy(page: Path) -> None:
    dom = chromium("--dump-dom", page.as_uri())
    assert '<th><button type="button">name</button></th>' in dom
    assert 'class="tip"' in dom


def test_the_page_keeps_its_policy_and_looks_the_same_without_it(page: Path) -> None:
    text, drawn = page.read_text("utf-8"), []
    bare = re.sub(r"<meta http-equiv[^>]*>", "", text)
    styled = text.replace("<h1>", '<h1 style="color: red">')
    for name, content, broken in (("as", text, 0), ("bare", bare, 0), ("styled", styled, 1)):
        one = page.parent / f"policy-{name}.html"
        one.write_text(content, "utf-8")
        shot = one.with_suffix(".png")
        words = ("--enable-logging=stderr", "--window-size=1280,26000", f"--screenshot={shot}")
        log = chromium(*words, one.as_uri(), errors=True)
        assert len(re.findall("violates the following Content Security Policy", log)) == broken
        drawn.append(Image.open(shot).convert("L").reduce(16))  # edges of letters may differ
    assert max(ImageChops.difference(*drawn[:2]).tobytes()) < 16


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_fits_and_is_legible_at_every_width(pages: Pages, kind: str, width: int) -> None:
    layout = probed(pages.page(kind), width, "fits")
    assert layout["wide"] <= layout["inner"] == width, "nothing sticks out"
    assert layout["least"] is None or layout["least"] >= 7.3
    assert layout["over"] == [], "words of a figure"
    assert layout["unlabelled"] == layout["empty"] == 0
    if width == 1280 and kind == "sample":
        assert len(layout["charts"]) == 3 and max(layout["charts"]) < 800, (
            "the first screen answers"
        )


def test_values_are_shown_under_the_pointer(pages: Pages) -> None:
    tips = probed(pages.page("sample"), 1280, "hover")
    trace = pages.trace("sample")
    waits = analyze(trace, "queueing_delay").table
    waits = waits[(waits["gang"] == "1") & waits["vc"].isna()]
    median = waits.set_index("percentile")["wait_s"][50]
    name, wait, share = tips["curve"]
    assert name == "1 GPU" and share.endswith("50 %")
    number, unit = wait.split()[-2:]
    assert unit == "s" and abs(float(number) / median - 1) < 0.03
    status = analyze(trace, "job_status").table.set_index("status")
    assert tips["mark"] == [f"Pass: {status['gpu_h_pct']['Pass']:.4g}", "GPU time"]
    assert tips["gone"]


def test_a_click_on_a_header_sorts_the_table(page: Path) -> None:
    orders = probed(page, 1280, "sorts")
    assert len(orders["down"]) > 5
    assert orders["down"] == sorted(orders["down"], reverse=True) == orders["up"][::-1]
    assert (orders["order"], orders["now"]) == ("descending", None)
    assert orders["names"] == sorted(orders["names"], reverse=True)


def test_every_row_of_a_figure_is_a_click_away(page: Path, pages: Pages) -> None:
    shown = probed(page, 1280, "rows")
    waits = analyze(pages.trace("sample"), "queueing_delay").table
    assert (shown["first"], shown["opened"], shown["more"]) == (12, 200, 400)
    assert (shown["none"], shown["count"]) == (0, f"{len(waits)} rows")
    assert float(shown["longest"].replace(",", "")) == pytest.approx(
        waits["wait_s"].max(), rel=1e-3
    )


def test_a_name_shows_its_worst_jobs_and_a_word_filters_all_lists(page: Path) -> None:
    shown = probed(page.parent / "entries.html", 1280, "entries")
    assert 0 < shown["worst"] <= 10
    assert shown["fragment"] == f"#{shown['id']}"
    assert shown["closed"]
    assert (shown["jobs"], shown["users"]) == (1, 0)


def test_question_sentence_and_figure_are_printed_together(page: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the printed pages")
    printed = page.parent / "page.pdf"
    chromium(f"--print-to-pdf={printed}", "--no-pdf-header-footer", page.as_uri())
    sheets = [bare(sheet.extract_text()) for sheet in pypdf.PdfReader(printed).pages]
    separated, questions = [], 0
    for section in page.read_text("utf-8").split("<section ")[1:]:
        head = re.search(r'<p class="question">(.*?)</p>\s*<h3>(.*?)</h3>', section)
        drawn = re.findall(r"<text[^>]*>([^<]{4,})</text>", section)
        if head and drawn:
            questions += 1
            wanted = [bare(html.unescape(word)) for word in (*head.groups(), *drawn[-3:])]
            if not any(all(word in sheet for word in wanted) for sheet in sheets):
                separated.append(head[1])
    assert questions > 30
    assert separated == []
    assert len(sheets) <= 25


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_no_serious_fault_at_any_width(pages: Pages, kind: str, scheme: str) -> None:
    axe = os.environ.get("PHILLY_AXE")
    if not axe:
        pytest.skip("no axe.min.js: name it in PHILLY_AXE")
    words = ("--force-dark-mode",) if scheme == "dark" else ()
    by_width = {
        width: [
            fault
            for fault in probed(
                pages.page(kind), width, "axe", Path(axe).read_text("utf-8"), *words
            )
            if fault[0] in ("serious", "critical")
        ]
        for width in WIDTHS
    }
    assert {width: faults for width, faults in by_width.items() if faults} == {}
