"""Check the scripts that make the documentation: executed pages, pictures, tables."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import stats

from docs import execution, measured, statistics_pictures
from tests.bench.history import HISTORY
from tests.support.repository import DOCS


@pytest.fixture
def v4() -> Any:
    """Return the module that makes cells and their output; it takes seconds to import."""
    from nbformat import v4

    return v4


def points(line: Line2D) -> np.ndarray:
    """Return the points of a line, shape (points, 2)."""
    return np.asarray(line.get_xydata())


def lines_of(figure: Figure, panel: int = 0) -> dict[str, np.ndarray]:
    """Return the points of each labelled line of a panel, shape (points, 2)."""
    return {str(line.get_label()): points(line) for line in figure.axes[panel].lines}


def test_an_executed_cell_shows_its_code_output_and_pictures(v4: Any) -> None:
    outputs = [
        v4.new_output("stream", name="stdout", text="one\n"),
        v4.new_output("stream", name="stdout", text="two\n"),
        v4.new_output("stream", name="stderr", text="progress"),
        v4.new_output("display_data", data={"image/png": "iVBO\n", "text/plain": "<Figure>"}),
        v4.new_output("execute_result", data={"text/html": "<b>x</b>", "text/plain": "x"}),
        v4.new_output("display_data", data={"text/html": "<pre>\n</pre>", "text/plain": "\n"}),
        v4.new_output("execute_result", data={"text/plain": "12.5"}),
    ]
    code, text, figure, html, value = execution.shown(
        v4.new_code_cell('x = 1\nplot("<a>")', outputs=outputs)
    )
    assert code == '```python\nx = 1\nplot("<a>")\n```'
    assert text == "```{code-block} text\n:class: output\n\none\ntwo\n```"
    assert 'src="data:image/png;base64,iVBO"' in figure
    assert 'alt="Figure of plot(&quot;&lt;a&gt;&quot;)"' in figure
    assert '<div class="output"><b>x</b></div>' in html
    assert value.splitlines()[-2] == "12.5"


def test_a_shell_block_stays_one_and_text_is_kept(v4: Any) -> None:
    assert list(execution.shown(v4.new_code_cell("%%sh\nls\n"))) == ["```sh\nls\n\n```"]
    assert list(execution.shown(v4.new_markdown_cell("*a*"))) == ["*a*"]


@pytest.mark.slow
def test_blocks_of_a_page_run_in_one_session(tmp_path: Path) -> None:
    page = "# P\n\n```sh\nprintf 41 > n\n```\n\n```python\nn = int(open('n').read())\n```\n\n"
    page += "Text.\n\n```python\nn + 1\n```\n\n```console\n$ not run\n```\n"
    shown = execution.execute(page, tmp_path)
    assert (tmp_path / "n").read_text() == "41"
    assert "\n\n42\n```" in shown
    assert shown.startswith("# P\n\n```sh\nprintf 41 > n\n```")
    assert "```console\n$ not run\n```" in shown


def test_costs_are_those_of_the_last_full_run() -> None:
    with HISTORY.open() as file:
        rows = [row for row in csv.DictReader(file) if float(row["scale"]) == 1]
    shown = "\n".join(measured.costs())
    for archive in ("hard", "plain"):
        last = max(row["date"] for row in rows if row["archive"] == archive)
        [total] = [
            row
            for row in rows
            if (row["date"], row["archive"], row["step"]) == (last, archive, "raw files to page")
        ]
        line = f"| {float(total['wall_s']):.3g} | {float(total['cpu_s']):.3g} |"
        assert f"**raw files to report** {line}" in shown
        assert f"The {archive} archive, {total['cores']} cores, {last[:10]}," in shown


def test_measured_results_are_drawn_as_they_are() -> None:
    held_out = lines_of(measured.held_out())["this model"]
    assert held_out[0, 0] == pytest.approx(100 * 52 / 82)
    assert lines_of(measured.coverage())["this model"][:, 0].tolist() == [87, 92, 92, 92, 90]
    with (DOCS / "measured" / "conclusions.csv").open() as file:
        rows = list(csv.DictReader(file))
    [ax] = measured.conclusions().axes
    dots = np.array([points(line)[0] for line in ax.lines if len(points(line)) == 1])
    assert dots[:, 0].tolist() == [float(row["factor"]) for row in rows]
    bars = [bar for drawn in ax.collections for bar in drawn.get_segments()]  # type: ignore[attr-defined]
    assert [bar[:, 0].tolist() for bar in bars] == [
        [float(row["low"]), float(row["high"])] for row in rows
    ]
    assert (np.diff(dots[:, 1]) < 0).all()


@pytest.mark.parametrize("file", sorted((DOCS / "measured").glob("*.csv")), ids=lambda p: p.stem)
def test_rows_of_a_measured_table_have_a_cell_per_column(file: Path) -> None:
    with file.open() as text:
        head, *rows = csv.reader(text)
    assert rows
    assert {len(row) for row in rows} == {len(head)}


def test_rates_have_their_exact_intervals() -> None:
    [ax] = statistics_pictures.rates(50).axes
    bars = {points(line)[0, 0]: points(line)[:, 1] for line in ax.lines if len(points(line)) > 1}
    assert list(bars) == list(range(13))
    assert bars[0] == pytest.approx((0, 3 / 50), rel=0.01)  # the rule of three
    low, high = (stats.chi2.ppf(q, 2 * n) / 100 for q, n in ((0.025, 5), (0.975, 6)))
    assert bars[5] == pytest.approx((low, high))
    dots = [points(line)[0] for line in ax.lines if len(points(line)) == 1]
    assert [tuple(dot) for dot in dots] == [(n, n / 50) for n in range(1, 13)]


def test_intervals_by_user_contain_the_truth_and_those_by_job_do_not() -> None:
    by_job, by_user = (ax.get_title(loc="left") for ax in statistics_pictures.clusters().axes)
    counts = [int(title.split(": ")[1].split(" of ")[0]) for title in (by_job, by_user)]
    assert counts[0] < 30
    assert 54 <= counts[1] <= 60


def test_kaplan_meier_is_close_to_the_truth_and_dropping_jobs_is_not() -> None:
    lines = lines_of(statistics_pictures.censoring())
    truth = lines["truth"][:, 1]
    assert np.abs(lines["Kaplan-Meier"][:, 1] - truth).max() < 3
    assert (lines["running jobs dropped"][:, 1] - truth).max() > 8


def test_free_gpus_are_as_the_causes_say() -> None:
    axes = statistics_pictures.causes().axes
    free = [[p.get_facecolor()[:3] == (1, 1, 1) for p in ax.patches] for ax in axes]
    assert [sum(one) for one in free] == [12, 5, 8, 8]
    by_server = [[sum(one[8 * s : 8 * s + 8]) for s in range(3)] for one in free]
    assert by_server[2] == [0, 5, 3]
    assert max(by_server[3]) == 8


def test_a_class_of_as_many_jobs_as_the_parameter_counts_half() -> None:
    for name, points in lines_of(statistics_pictures.shrinkage()).items():
        n = float(name.removeprefix("ν = ").replace(",", ""))
        assert np.interp(n, points[:, 0], points[:, 1]) == pytest.approx(50, abs=0.5)
