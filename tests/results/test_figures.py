"""Check figures: readable axes for any range, and every group of a table drawn."""

import html
import io
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Line
from matplotlib.text import Text
from matplotlib.typing import ColorType

from philly_analysis import analyze, ingest
from philly_analysis.errors import UnknownNameError
from philly_analysis.results import figures
from philly_analysis.results.figures.legends import outlines
from philly_analysis.results.paired_effects import Paired
from philly_analysis.study.terms import GANGS
from tests.support.figure_layout import bare_panels, overlaps
from tests.support.report_pages import KINDS, Pages

TEMPLATE = (Path(figures.__file__).parents[2] / "report" / "templates" / "page.html").read_text(
    "utf-8"
)


@pytest.mark.parametrize("days", [0, 0.1, 1, 2, 3, 4, 4.5, 4.99, 5, 9, 30, 45, 137, 400, 4_000])
def test_days_are_ticked_without_a_warning(days: float) -> None:
    fig, [ax] = figures.canvas()
    first = datetime(2017, 10, 3)
    ax.plot(np.array([first, first + timedelta(days=days)], "M8[us]"), [0, 1])
    figures.day_axis(ax)
    assert "<svg" in figures.svg(fig)
    assert 2 <= len(ax.get_xticks()) <= 10


@pytest.mark.parametrize(("size", "few"), [((2, 8), "x"), ((8, 2), "y")])
def test_a_short_axis_of_times_has_few_ticks(size: tuple[float, float], few: str) -> None:
    _, [ax] = figures.canvas(width=size[0], height=size[1])
    for along, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        figures.time_axis(ax, 1, 1e7, axis=along)  # type: ignore[arg-type]
        names = [label.get_text() for label in axis.get_ticklabels()]
        every = ["1 s", "10 s", "1 min", "10 min", "1 h", "1 d", "1 wk", "30 d"]
        assert names == (["1 s", "1 min", "1 h", "1 d", "30 d"] if along == few else every)


def test_an_axis_of_times_ends_at_the_first_tick_beyond_the_data_it_shares() -> None:
    _, [left, right] = figures.canvas(2, sharex=True)
    left.plot([5, 90], [0, 1])
    right.plot([5, 4000], [0, 1])
    figures.time_axis(left)
    assert left.get_xlim() == (1, 86_400)
    _, [alone] = figures.canvas()
    alone.plot([5, 9], [0, 1])
    figures.time_axis(alone)
    assert alone.get_xlim() == (1, 60)


def test_a_group_without_a_colour_gets_a_curve_of_its_own() -> None:
    fig, [ax] = figures.canvas()
    table = pd.DataFrame(
        {"gang": ["1"] * 2 + ["new"] * 2, "percentile": [0, 100] * 2, "wait_s": [1, 2, 3, 4]}
    )
    figures.cdf(ax, table, value="wait_s", by="gang", colors={"2-4": "#111111", "1": "#222222"})
    assert [line.get_label() for line in ax.lines] == ["1", "new"]
    assert len({line.get_color() for line in ax.lines}) == 2
    assert "<svg" in figures.svg(fig)


def test_the_height_of_stacked_steps_is_their_highest_sum() -> None:
    _, [ax] = figures.canvas()
    days = pd.date_range("2017-10-02", periods=3)
    table = pd.DataFrame({"a": [1, 4, 2], "b": [2, 3, 0]}, index=days)
    assert figures.stacked_steps(ax, table, ["red", "blue"]) == 7


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, computed apart from the package (WCAG 2.2)."""

    def light(color: str) -> float:
        code = {"white": "ffffff", "black": "000000"}.get(color, color.lstrip("#"))
        parts = [int(code[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        red, green, blue = (
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    "color", [*figures.CYCLE, *figures.GANG_COLORS.values(), *figures.STATUS_COLORS.values()]
)
def test_labels_on_marks_and_beside_lines_have_contrast(color: str) -> None:
    assert contrast(figures.contrasting(color), color) >= 4.5
    assert contrast(figures.darken(color), "white") >= 4.5
    assert contrast(figures.SOFT, "white") >= 4.5


def test_forest_plots_show_all_effects_and_cut_long_intervals() -> None:
    def limits(*changes: tuple[float, float, float], published: float | None = None) -> list[float]:
        rows = [("r", Paired(*change, 3), figures.UNCLEAR) for change in changes]
        fig = figures.forest_panels([figures.Panel("h", rows, published)], "%")
        return list(fig.axes[0].get_xlim())

    left, right = limits((10, -400, 900))
    assert (left, right) == pytest.approx((-101.2, 150))
    left, right = limits((700, 600, 800))
    assert left < 0 and 700 < right < 800
    left, right = limits((0, 0, 0))
    assert left <= -2 and right >= 2
    assert limits((5, 4, 6), published=60.0)[1] > 60


def in_the_dark(color: str) -> str:
    """Return a colour as the page's filters show it in dark mode: inverted, with its hue."""
    [dark] = re.findall(r"--page:(#\w{6}); color-scheme:dark", TEMPLATE)
    turned = 0.9 - 0.8 * np.array(to_rgb(color))
    gray = np.array([0.213, 0.715, 0.072]) @ turned  # hue-rotate(180deg) of the CSS filters
    return to_hex(tuple(np.clip(2 * gray - turned, to_rgb(dark), 1)))


def test_labels_have_contrast_in_dark_mode() -> None:
    assert "filter:invert(.9) hue-rotate(180deg); mix-blend-mode:lighten" in TEMPLATE
    assert in_the_dark("#ffffff") == "#1a1c21", "no edge where a figure begins"
    colors = (*figures.CYCLE, *figures.GANG_COLORS.values(), *figures.STATUS_COLORS.values())
    words = (figures.INK, figures.SOFT, *(figures.darken(color) for color in colors))
    assert min(contrast(in_the_dark(w), in_the_dark("#ffffff")) for w in words) >= 4.5
    # numbers in bars: white is shown black, black is shown white with a black edge
    for color in colors:
        if figures.contrasting(color) == "white":
            assert contrast(in_the_dark("#ffffff"), in_the_dark(color)) >= 4.5
    assert contrast(in_the_dark("#000000"), in_the_dark("#ffffff")) >= 4.5


def test_a_gang_size_has_one_colour_in_all_figures() -> None:
    colors = figures.gang_size_colors([16, 1, 8, 2, 4])
    assert list(colors) == ["1", "2", "4", "8", "16"]
    assert len(set(colors.values())) == 5
    for size, bucket in (("1", "1"), ("4", "2-4"), ("8", "5-8"), ("16", ">8")):
        assert colors[size] == figures.GANG_COLORS[bucket]
    assert set(figures.GANG_COLORS) == set(GANGS)


def curves(names: list[str], place: str) -> Figure:
    fig, [ax] = figures.canvas()
    for i, name in enumerate(names):
        ax.plot([0, 1, 2], [i, 2 + i, 9 + i], label=name)
    figures.legend(ax, "kind", loc=place)
    ax.set(xlabel="load", ylabel="wait")
    return fig


def test_outlines_do_not_join_the_parts_of_a_mark() -> None:
    fig, [ax] = figures.canvas()
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
    parts = [Line(square + shift, closed=True) for shift in (0, 5)]
    ax.add_patch(PathPatch(Line.make_compound_path(*parts)))
    fig.draw_without_rendering()
    seen = [ax.transData.inverted().transform(line) for line in outlines(ax)]
    assert [line.round(6).tolist() for line in seen] == [
        (square[:4] + shift).tolist() for shift in (0, 5)
    ]


def test_a_legend_that_would_cover_a_line_goes_below() -> None:
    names = ["one with a long name", "another with a long name", "a third with a long name"]
    covering, free = curves(names, "center"), curves(names[:2], "upper left")
    for fig in (covering, free):
        assert overlaps(fig) == []
    legends = [fig.axes[0].get_legend() for fig in (covering, free)]
    frames = [legend.get_window_extent() for legend in legends if legend]
    bottoms = [fig.axes[0].bbox.y0 for fig in (covering, free)]
    assert frames[0].y1 < bottoms[0], "below the axis"
    assert frames[1].y0 > bottoms[1], "where it was put"
    assert figures.svg(curves(names, "center")).count("a long name</text>") == 3


def legend_texts(fig: Figure) -> list[list[str]]:
    """Return the entries of each legend of a figure, as drawn."""
    FigureCanvasAgg(fig).draw()  # type: ignore[no-untyped-call]
    legends = [*fig.legends, *(legend for ax in fig.axes if (legend := ax.get_legend()))]
    return [[text.get_text() for text in legend.get_texts()] for legend in legends]


@pytest.mark.parametrize("panels", [1, 3])
@pytest.mark.parametrize("style", ["page", "column", "text"])
def test_lines_are_named_once_in_the_order_in_which_they_are_drawn(
    panels: int, style: figures.Style
) -> None:
    fig, axes = figures.canvas(panels)
    names = [f"line {i} of a long name" for i in range(7)]
    for ax in axes:
        for i, name in enumerate(names[: 7 if ax is axes[-1] else 2]):
            ax.plot([0, 1, 2], [0, i, 1], label=name)
        ax.set_xlabel("a label")
    figures.label_lines(axes)
    figures.mark_synthetic(fig, synthetic=True)
    figures.restyle(fig, style)
    assert legend_texts(fig) == [names]
    assert overlaps(fig) == []
    below = [legend.get_window_extent() for legend in fig.legends]
    assert len(below) == (panels > 1)
    assert all(box.x0 >= 0 and box.x1 <= fig.bbox.width for box in below)
    assert figures.svg(fig) == figures.svg(fig)


def test_entries_of_a_grey_legend_look_like_their_lines() -> None:
    for panels in (1, 2):
        fig, axes = figures.canvas(panels)
        for i in range(3):
            for ax in axes:
                ax.plot([0, 1], [i, i + 1], label=f"line {i}")
        figures.label_lines(axes)
        figures.restyle(fig, "column", grey=True)
        [names] = legend_texts(fig)
        [legend] = [*fig.legends, *(one for ax in fig.axes if (one := ax.get_legend()))]
        for line, entry in zip(axes[0].lines, legend.legend_handles, strict=True):
            assert isinstance(entry, Line2D)
            assert (entry.get_color(), entry._dash_pattern) == (  # type: ignore[attr-defined]
                line.get_color(),
                line._dash_pattern,  # type: ignore[attr-defined]
            )
        assert names == ["line 0", "line 1", "line 2"]


def test_a_column_has_one_panel_below_the_other_with_its_own_tick_labels() -> None:
    fig, axes = figures.canvas(2, sharex=True, sharey=True)
    figures.restyle(fig, "column")
    fig.draw_without_rendering()
    assert axes[0].bbox.y0 > axes[1].bbox.y1 and axes[0].bbox.x0 == axes[1].bbox.x0
    for ax in axes:
        assert all(text.get_visible() for text in (*ax.get_xticklabels(), *ax.get_yticklabels()))


def grey(color: ColorType) -> bool:
    return float(np.ptp(to_rgb(color))) < 0.05  # as dark ink


def test_grey_figures_keep_lines_apart_and_the_luminance_of_bars() -> None:
    fig, [curves, stack] = figures.canvas(2)
    for i, color in enumerate(figures.CYCLE[:4]):
        curves.plot([0, 1], [i, i + 1], color=color, label=f"line {i}")
    curves.plot([0, 1], [3, 1], "--", color=figures.CYCLE[0])
    curves.text(0.5, 0.5, "in colour", color="#d9822b")
    colors = ("#8fb8de", "#d9822b", "#1b3f73")
    for i, color in enumerate(colors):
        stack.bar([0], [1], bottom=[i], color=color, alpha=0.5)
    band = stack.fill_between([0, 1], [0, 0], [1, 1], color="#3a9a78")
    widths = [line.get_linewidth() for line in curves.lines]
    assert figures.restyle(fig, "text", grey=True) is fig
    assert fig.get_figwidth() == 7 and fig.get_figheight() == pytest.approx(3.4 * 7 / 7.2)
    assert [line.get_linewidth() for line in curves.lines] == pytest.approx(
        [width * 7 / 9 for width in widths]
    )
    looks = [(line.get_color(), line._dash_pattern) for line in curves.lines[:4]]  # type: ignore[attr-defined]
    assert len({str(look) for look in looks}) == 4
    assert curves.lines[4].get_color() == looks[0][0] and curves.lines[4].get_linestyle() == "--"
    drawn = [line.get_color() for line in curves.lines]
    drawn += [bar.get_facecolor() for bar in stack.patches] + [*band.get_facecolor()]
    drawn += [text.get_color() for text in fig.findobj(Text) if isinstance(text, Text)]
    assert all(map(grey, drawn))
    assert {to_rgba(bar.get_facecolor())[3] for bar in stack.patches} == {0.5}
    shades = [to_rgb(bar.get_facecolor())[0] for bar in stack.patches]
    light = [contrast(color, "black") for color in colors]
    assert np.argsort(shades).tolist() == np.argsort(light).tolist()
    for shade, was in zip(shades, light, strict=True):
        assert shade**2.2 == pytest.approx((was * 0.05 - 0.05), abs=0.01)


def test_small_fonts_stay_legible_and_panels_high() -> None:
    fig, axes = figures.canvas(1, 3, height=3)
    axes[0].text(0.5, 0.5, "small", fontsize=6)
    axes[0].text(0.2, 0.2, "large", fontsize=18)
    figures.restyle(fig, "text")
    assert {text.get_fontsize() for text in axes[0].texts} == {5.5, 14}
    fig.draw_without_rendering()
    high = [ax.get_position().height * fig.get_figheight() for ax in axes]
    assert min(high) > 1.2 and fig.get_figwidth() == 7
    with pytest.raises(UnknownNameError):
        figures.restyle(fig, "poster")  # type: ignore[arg-type]


def test_values_under_the_pointer_are_those_drawn() -> None:
    fig, [plain, log, days, named] = figures.canvas(2, 2)
    x = np.array([3.0, 70.0])
    plain.plot(x, x / 2, label="plain & simple")
    figures.percent_axis(plain, "share")
    log.plot(x, 2 * x, label="log")
    figures.time_axis(log)
    midnight = np.array(["2017-10-03", "2017-10-20"], "M8[s]")
    days.plot(midnight, x, label="days")
    figures.day_axis(days)
    figures.bars(named, ["one", "two"], {"part": [4.0, 8.0]}, colors={})
    text = figures.svg(fig)
    [axes] = re.findall(r"data-axes='([^']*)'", text)
    shown = json.loads(html.unescape(axes))
    values = {"plain & simple": (x, x / 2), "log": (x, 2 * x), "days": (midnight.astype(float), x)}
    for number, name in enumerate(values):
        pattern = rf'data-on="{number}" data-name="{html.escape(name)}">.*?d="([^"]*)"'
        [path] = re.findall(pattern, text, re.DOTALL)
        points = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+)", path), float)
        for at, along, value in zip(points.T, "xy", values[name], strict=True):
            axis = shown[number][along]
            scale = np.log if axis.get("log") else np.asarray
            low, high = scale(axis["lim"])
            expected = np.interp(scale(value), [low, high], axis["at"])
            assert at == pytest.approx(expected, abs=0.2), (name, along)
    units = [[axis[along].get("unit") for along in "xy"] for axis in shown]
    assert units == [[None, "%"], ["s", None], ["d", None], [None, None]]
    assert shown[3]["x"]["ticks"] == [[0, "one"], [1, "two"]]
    assert 'data-on="3" data-name="part: 4"' in text and 'data-name="part: 8"' in text
    plain.set_axis_off()
    log.set_visible(False)
    assert "data-axes='[null,null,{" in html.unescape(figures.svg(fig))


def test_shares_are_written_in_the_bars_with_room_for_them() -> None:
    _, [ax] = figures.canvas()
    table = pd.DataFrame({"gpu_h_pct": [94.1, 5.9], "jobs_pct": [94.0, 6.0]}, index=["a", "b"])
    figures.job_shares(ax, table, {"a": "navy", "b": "gold"}, "GPU time")
    assert [text.get_text() for text in ax.texts] == ["94.1 %", "94.0 %", "", "6.0 %"]


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(0, 100), min_size=9, max_size=9), min_size=1, max_size=4, unique_by=tuple
    )
)
def test_legends_cover_no_line(ys: list[list[float]]) -> None:
    fig, [ax] = figures.canvas(width=6, height=3)
    for i, y in enumerate(ys):
        ax.plot(range(9), y, label=f"the line {i}")
    figures.label_lines(ax)
    assert legend_texts(fig) == [[f"the line {i}" for i in range(len(ys))]]
    assert overlaps(fig) == []


def test_svg_styles_are_written_as_attributes() -> None:
    fig, [ax] = figures.canvas()
    ax.plot([0, 1], [0, 1], "o--", color="#8e5ea2", alpha=0.4, label="it's <so> & $x^2$")
    ax.bar([0, 1], [1, 2], color="none", edgecolor="black")
    ax.text(0.1, 0.9, "said; as: 'is'", style="italic", weight="bold")
    figures.title(ax, 'style="fill: red"')
    out = io.StringIO()
    with mpl.rc_context(figures.STYLE):
        FigureCanvasSVG(fig).print_svg(out)  # type: ignore[no-untyped-call]
    ours, theirs = (
        [e for e in ET.fromstring(text).iter() if e.tag.endswith(("path", "use", "text", "tspan"))]  # noqa: S314 - we drew it
        for text in (figures.svg(fig), out.getvalue())
    )
    assert [e.text for e in ours] == [e.text for e in theirs]
    styled = 0
    for mine, their in zip(ours, theirs, strict=True):
        wanted = dict(re.findall(r"([\w-]+):\s*([^;]+)", their.get("style", "")))
        wanted.pop("font-family", None)
        assert {name: mine.get(name) for name in wanted} == wanted
        styled += len(wanted)
    assert styled > 50
    assert not any(e.get("style") for e in ours)


def test_long_names_are_shortened_and_figures_marked_synthetic_once() -> None:
    assert [figures.shorten("59952278975375.0", n) for n in (16, 12, 5)] == [
        "59952278975375.0",
        "599522…375.0",
        "59….0",
    ]
    fig = figures.mark_synthetic(
        figures.mark_synthetic(figures.canvas()[0], synthetic=True), synthetic=True
    )
    assert [text.get_text() for text in fig.texts] == ["synthetic data"]


def test_overlaps_are_found() -> None:
    fig, [ax] = figures.canvas()
    ax.plot([0, 1], [0, 1], label="line")
    ax.text(0.5, 0.5, "upon it")
    ax.text(0.51, 0.5, "and this")
    assert {"'upon it' over 'and this'", "'upon it' over the line line"} <= set(overlaps(fig))


def test_a_panel_that_shows_nothing_is_found() -> None:
    fig, [full, *_] = figures.canvas(2)
    full.plot([0, 1], [0, 1])
    assert bare_panels(fig) == ["panel 1 () is bare"]


def faults(fig: Figure) -> list[str]:
    """Return the faults of a drawn figure: overlaps, panels without marks, pale text."""
    pale = [
        f"{text.get_text()!r} is pale"
        for text in (t for t in fig.findobj(Text) if isinstance(t, Text))
        if text.get_text().strip() and text.get_visible()
        # the number in a bar is white or black, chosen by its colour
        if (color := to_hex(text.get_color())) != "#ffffff" and contrast(color, "white") < 4.5
    ]
    return [*overlaps(fig), *bare_panels(fig), *pale]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overlaps_in_the_figures_of_a_page_and_all_can_be_read(
    pages: Pages, kind: str
) -> None:
    drawn = pages.figures(kind)
    assert len(drawn) >= pages.page(kind).read_text("utf-8").count('<div class="wide of')
    assert bool(drawn) == (kind != "atlas"), "its panels are checked in a browser"
    assert [problems for fig in drawn if (problems := faults(fig))] == []


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("source", "folder", "fewest"),
    [
        ("philly-multigpu", "philly-multigpu-jobs", 11),
        ("mit-supercloud-2021", "mit-supercloud-2021", 11),
        ("itp-2021", "itp-2021", 9),  # without waits
        ("thetagpu-2023", "thetagpu-2023", 11),
    ],
)
def test_nothing_overlaps_in_the_figures_of_real_traces(
    traces: Path, tmp_path: Path, source: str, folder: str, fewest: int
) -> None:
    map_ = None if source == "philly-multigpu" else source
    ingest("table" if map_ else source, traces / folder, tmp_path / "trace", map=map_)
    drawn = {name: r.plot() for name, r in analyze(tmp_path / "trace").items() if r.draw}
    shown = {name: fig for name, fig in drawn.items() if not figures.is_empty(fig)}
    assert len(shown) >= fewest
    assert {name: problems for name, fig in shown.items() if (problems := faults(fig))} == {}
