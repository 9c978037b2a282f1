"""Check the page of the atlas: one escaped file with a cell per claim and cluster."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from markupsafe import escape

from philly_analysis import atlas
from philly_analysis.atlas import drawing
from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Claim, Verdict
from philly_analysis.atlas.datasets import known_datasets
from philly_analysis.atlas.evaluation import evaluate, in_brief
from philly_analysis.atlas.measure import Unit
from philly_analysis.atlas.overview import PHONE, plot
from philly_analysis.atlas.public_clusters import answers_table, shipped_answers
from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest.source_registry import SOURCES
from philly_analysis.ingest.table.table_map import SHIPPED
from philly_analysis.results import Result, figures
from philly_analysis.results.formatting import bind_units
from philly_analysis.trace.manifest import Sample
from tests.support.clusters import random_tables, trace_of, write_tables
from tests.support.drawn_data import misleading
from tests.support.html_page import Page

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("atlas")
    paths = []
    for seed, name in enumerate([HOSTILE, "plain"]):
        tables = random_tables(seed, 140, tidy=True)
        tables["jobs"] = tables["jobs"].with_columns(
            # users enough for an interval
            user=pl.col("job_id").str.tail(2) + HOSTILE
        )
        sample = Sample(f"{HOSTILE} only.", ("status",)) if seed else None
        out = folder / f"t{seed}"
        paths.append(write_tables(out, tables, "table", name=name, notes=(HOSTILE,), sample=sample))
    (folder / "public" / "acme-2023").mkdir(parents=True)
    result = atlas(paths, folder / "atlas", datasets=folder / "public")
    return folder / "atlas", result


@pytest.fixture(scope="module")
def page(made: tuple[Path, Result]) -> str:
    return (made[0] / "atlas.html").read_text("utf-8")


def shown(made: tuple[Path, Result]) -> pd.DataFrame:
    """The strongest answers with an effect: of the two traces, and of the shipped clusters."""
    cells = pd.concat([made[1].table, answers_table(shipped_answers())])
    return cells.dropna(subset=["effect"]).drop_duplicates(["claim", "cluster"])


@pytest.mark.slow
def test_each_answered_claim_has_a_row_with_a_cell_per_cluster(
    page: str, made: tuple[Path, Result]
) -> None:
    table = re.findall(r'<table class="matrix">.*?</table>', page, re.DOTALL)[0]
    answered = set(shown(made)["claim"])
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table, re.DOTALL)
    assert len(rows) == len(answered)
    for row in rows:
        [claim] = re.findall(r'^<a href="#(\w+)"', row)
        cells = re.findall(r"<td .*?</td>", row, re.DOTALL)
        mine = made[1].table.query("claim == @claim")
        assert len(cells) == len(mine) + len(cards_shown())
        verdicts = {
            (cell.split('"')[1].removeprefix("lacking "), "<svg" in cell) for cell in cells[:2]
        }
        effects = zip(mine["verdict"], mine["effect"].notna(), strict=True)
        assert verdicts == {(Verdict(v).word, known) for v, known in effects}  # yours are first
    for claim in CLAIMS.values():
        assert claim.name in Page(page).ids
        assert str(escape(claim.question)) in page
    [silent] = re.findall(r'<tr class="silent">.*?</tr>', table, re.DOTALL)
    assert set(re.findall(r'href="#(\w+)"', silent)) == CLAIMS.keys() - answered
    assert set(made[1].table["verdict"]) > {"cannot be said"}, "something is decided"


def cards_shown() -> set[str]:
    return {f.cluster for f in shipped_answers()}


def test_the_figure_has_a_column_per_cluster_and_lists_unanswered_claims(
    made: tuple[Path, Result],
) -> None:
    figure = made[1].plot()
    [axes] = figure.axes
    columns = [text.get_text() for text in axes.get_xticklabels()]
    assert columns[0].replace("\\", "") in set(made[1].table["cluster"])
    assert set(columns[2:]) == cards_shown()
    thresholds = sum(np.ptp(line.get_ydata()) > 0.9 for line in axes.lines)
    assert thresholds == sum(line.get_marker() != "None" for line in axes.lines)
    rows = [text.get_text() for text in axes.get_yticklabels()]
    silent = [c.title for c in CLAIMS.values() if c.title not in rows]
    caption = " ".join(axes.get_xlabel().split())
    assert f"No cluster here answers: {'; '.join(silent)}." in caption


def test_a_cell_has_the_effect_and_its_interval_in_its_place() -> None:
    atlas = evaluate([], shipped=shipped_answers())
    decided = atlas.table.dropna(subset=["effect"])
    figure = plot(atlas.table, atlas.result())
    assert misleading(figure) == []
    [ax] = figure.axes
    claims = [text.get_text().replace("\n", " ") for text in ax.get_yticklabels()]
    clusters = [text.get_text() for text in ax.get_xticklabels()]
    effects, intervals = {}, {}
    for line in ax.lines:
        (x, y), *more = np.asarray(line.get_xydata(), float)
        if not more:
            effects[round(x), y] = [x - round(x), str(line.get_marker())]
        elif y == more[0][1]:
            middle = round((x + more[0][0]) / 2)
            intervals[middle, y] = [x - middle, more[0][0] - middle]
    shapes = {"holds": "o", "reversed": "X", "absent": "D", "undecided": "s"}
    for row in decided.to_dict("records"):
        claim = CLAIMS[row["claim"]]
        at = clusters.index(figures.literal(row["cluster"])), claims.index(claim.title)
        middle, low, high = (
            0.34 * drawing.position(claim, row[of]) for of in ("effect", "low", "high")
        )
        assert effects.pop(at) == [pytest.approx(middle), shapes[Verdict(row["verdict"]).word]]
        if not math.isnan(low):
            assert intervals.pop(at) == pytest.approx([low, high])
    assert not effects and not intervals
    # half a cell beyond the first and the last, the first row at the top
    assert ax.get_xlim() == (-0.5, len(clusters) - 0.5)
    assert ax.get_ylim() == (len(claims) - 0.5, -0.5)
    for box in ax.patches:
        x, y = box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2  # type: ignore[attr-defined]
        assert (x, y) == pytest.approx((round(x), round(y)))


@pytest.mark.parametrize(
    ("unit", "above", "value", "expected"),
    [
        ("times", True, 80, 1),  # eightfold is the edge
        ("times", True, 800, 1),
        ("times", True, 10 * 8**0.5, 0.5),
        ("times", True, 0, -1),
        ("times", False, 80, -1),
        ("s", False, 10 / 30**0.5, 0.5),
        ("%", True, 35, 0.5),
        ("%", False, 0, 0.2),
        ("points", True, -2.5, -0.5),
        ("rate", False, 7.5, 0.5),
        ("%", True, math.nan, math.nan),
    ],
)
def test_an_effect_that_supports_its_claim_is_right_of_the_line(
    unit: Unit, above: bool, value: float, expected: float
) -> None:
    some = next(iter(CLAIMS.values()))
    claim = replace(some, above=above, threshold=10, measure=replace(some.measure, unit=unit))
    assert drawing.position(claim, value) == pytest.approx(expected, nan_ok=True)


def test_failures_per_hundred_years_are_not_percent() -> None:
    claim = CLAIMS["gpus_fail_rarely"]
    [titan] = [f for f in shipped_answers() if (f.claim, f.cluster) == (claim.name, "ORNL Titan")]
    assert claim.shown(titan) == "6.32"
    assert drawing.axis(claim, [6.32, 6.8]).ticks == ((0, "0"), (2.5, "2.5"), (5, "5"))
    # it ends at 17.6, and the threshold is 5
    assert drawing.axis(claim, [16]).ticks == ((0, "0"), (7.5, "7.5"), (15, "15"))


def test_panels_of_a_claim_have_one_height() -> None:
    panels = [pd.DataFrame({"y": [3.0, 30.0]}), pd.DataFrame({"y": [7.0]}), pd.DataFrame({"y": []})]
    tops = {c.measure.shape: drawing.top_of(c, panels) for c in CLAIMS.values()}
    fixed = {"lengths": 100, "shares": 100, "cycle": 3}
    assert len(tops.keys() - fixed) > 0
    assert tops == {shape: fixed.get(shape, 40) for shape in tops}


def test_a_small_cell_has_the_effect_between_the_ends_of_its_interval() -> None:
    decided = [f for f in shipped_answers() if not math.isnan(f.effect.value)]
    for finding in decided:
        claim = CLAIMS[finding.claim]
        svg = drawing.cell(claim, finding)
        [width] = re.findall(r'viewBox="0 0 (\d+)', svg)
        middle = int(width) / 2
        value, low, high = (
            middle * (1 + 0.84 * drawing.position(claim, v))
            for v in (finding.effect.value, finding.effect.low, finding.effect.high)
        )
        zero, interval, shape = re.findall(r'd="([^"]*)"', svg)
        assert float(zero[1:].split()[0]) == middle
        left, _, *parts = map(float, re.findall(r"-?[\d.]+", shape))
        if finding.verdict is Verdict.ABSENT:
            assert left == pytest.approx(value, abs=0.06)
        else:  # as far left of the effect as right
            wide = parts[0] if finding.verdict is not Verdict.HOLDS else parts[5]
            assert left + wide / 2 == pytest.approx(value, abs=0.06)
        if math.isnan(low):
            assert interval == ""
        else:
            ends = [float(n) for n in (interval[1:].split()[0], interval.split("H")[1])]
            assert ends == pytest.approx([low, high], abs=0.06)
    assert len({f.verdict for f in decided}) > 2


def claim_of(shape: str) -> Claim:
    return next(c for c in CLAIMS.values() if c.measure.shape == shape)


def words_at(svg: str) -> dict[str, tuple[float, float]]:
    """Return the position of each text of a figure."""
    labels = re.findall(r'<text x="([\d.-]+)" y="([\d.-]+)"[^>]*>([^<]*)</text>', svg)
    return {text: (float(x), float(y)) for x, y, text in labels}


def test_curves_of_a_panel_are_on_its_axes() -> None:
    shares = pd.DataFrame({"x": [0, 5, 10, 60, 100], "y": [0, 40, 55, 90, 100], "n": 9})
    lengths = pd.DataFrame({"x": [1.0, 60, 600, 86_400], "y": [3.0, 20, 70, 99], "n": 9})
    ticks = {"1 min": 60, "1 h": 3_600, "1 d": 86_400}
    for shape, data, places in (
        ("shares", shares, {"10 %": 10, "50 %": 50, "100 %": 100}),
        ("lengths", lengths, {tick: math.log(seconds) for tick, seconds in ticks.items()}),
    ):
        claim = claim_of(shape)
        svg = drawing.panel(claim, data, 100.0, "label")
        [path] = re.findall(r'<path d="M([^"]*)" fill="none"', svg)
        points = np.array([pair.split() for pair in path.split("L")], float)
        words = words_at(svg)
        x = [words[word][0] for word in places]
        slope, start = np.polyfit(list(places.values()), x, 1)
        along = data["x"] if shape == "shares" else np.log(data["x"])
        assert points[:, 0] == pytest.approx(start + slope * along.to_numpy(float), abs=0.2)
        assert x == pytest.approx(start + slope * np.array([*places.values()]), abs=0.2)
        heights = re.findall(r'<line x1="[\d.]+" x2="[\d.]+" y1="([\d.]+)" y2="\1"', svg)
        assert len(heights) == 3  # of 0, 50 and 100 %
        foot, _, top = map(float, heights)
        assert points[:, 1] == pytest.approx(foot + (top - foot) * data["y"] / 100, abs=0.1)
        if shape == "shares":
            [(cx, cy)] = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)
            assert [float(cx), float(cy)] == pytest.approx(points[2], abs=0.1)
            assert "55.0 %" in words
        else:
            [at] = re.findall(r'<line x1="([\d.]+)" x2="\1"', svg)
            assert float(at) == pytest.approx(start + slope * math.log(claim.threshold), abs=0.2)


def test_bars_of_a_panel_reach_their_values_and_few_rows_are_dashed() -> None:
    data = pd.DataFrame({"x": ["1", "2-4", ">8"], "y": [10.0, math.nan, 40.0], "n": [30, 0, 29]})
    svg = drawing.panel(claim_of("bars"), data, 40.0, "label")
    rects = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" ([^/]*)/>', svg
    )
    words = words_at(svg)
    foot, middle, top = (float(y) for y in re.findall(r'y1="([\d.]+)" y2="\1"', svg))
    assert middle == pytest.approx((foot + top) / 2, abs=0.1)
    for (x, y, width, height, look), label, value, dashed in zip(
        rects, ("1", escape(">8")), (10, 40), (False, True), strict=True
    ):
        assert float(x) + float(width) / 2 == pytest.approx(words[str(label)][0], abs=0.2)
        assert float(y) == pytest.approx(foot + (top - foot) * value / 40, abs=0.1)
        assert float(y) + float(height) == pytest.approx(foot, abs=0.2)
        assert ("dasharray" in look) == dashed
        assert words[f"{value:.1f}"][1] < float(y)
    assert words["none"][0] == words["2-4"][0]
    first, second = rects
    assert float(first[0]) + float(first[2]) < float(second[0])


def test_bars_of_a_cycle_stand_side_by_side_in_the_frame() -> None:
    some = next(iter(CLAIMS.values()))
    data = pd.DataFrame({"x": range(24), "y": np.linspace(0.5, 2, 24), "n": 1})
    bars = re.findall(r'<rect x="([\d.-]+)" y="([\d.-]+)"', drawing._cycle(some, data, 2.0))
    across, up = (np.array([float(bar[i]) for bar in bars]) for i in (0, 1))
    assert across.size == 24 and np.ptp(np.diff(across)) < 0.2
    assert drawing._LEFT < across[0] < across[-1] < drawing._RIGHT
    assert (np.diff(up) < 0).all(), "higher for more"


@pytest.mark.parametrize(("bars", "named"), [(24, range(0, 24, 6)), (7, range(7))])
def test_every_day_of_a_week_is_named_and_every_sixth_hour_of_a_day(
    bars: int, named: range
) -> None:
    some = next(iter(CLAIMS.values()))
    svg = drawing._cycle(some, pd.DataFrame({"x": range(bars), "y": 1.0, "n": 1}), 2.0)
    assert list(words_at(svg)) == [str(at) for at in named]


def test_numbers_on_the_page_are_those_of_the_table(page: str, made: tuple[Path, Result]) -> None:
    decided = made[1].table.dropna(subset=["low"])
    assert len(decided) > 5
    for claim, effect in zip(decided["claim"], decided["effect"], strict=True):
        assert bind_units(CLAIMS[claim].format(effect)) in page


def test_text_from_logs_is_escaped(page: str) -> None:
    assert Page(page).tags.count("script") == 1 and "img" not in Page(page).tags
    assert "alert(1)" in page


def test_it_is_one_small_file_that_asks_nothing_of_the_network(page: str) -> None:
    parsed = Page(page)
    for address in parsed.addresses:
        assert address.startswith("data:") or address.removeprefix("#") in parsed.ids, address
    assert not re.search(r"url\((?!#)", page)
    assert len(page.encode()) < 2_000_000
    assert len(parsed.ids) == len(set(parsed.ids))


def test_what_is_synthetic_sampled_or_absent_is_said(page: str) -> None:
    assert "Some of these traces are synthetic" in page
    assert str(escape(f"{HOSTILE} only.")) in page
    assert "has no file trace_*.csv" in page and "There is no itp-2021." in page
    assert "/public/" not in page.replace("public/acme-2023", "")


def test_tables_stand_beside_it(made: tuple[Path, Result]) -> None:
    folder, result = made
    files = ["answers.csv", "atlas.csv", "atlas.html", "panels.csv"]
    assert sorted(f.name for f in folder.iterdir()) == files
    assert pl.read_csv(folder / "atlas.csv").height == len(result.table) == 2 * len(CLAIMS)
    drawn = pl.read_csv(folder / "panels.csv", infer_schema=False)["claim"].unique()
    assert set(drawn) <= CLAIMS.keys() and len(drawn) > 5


def test_it_replaces_only_an_atlas(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    trace = trace_of(tmp_path / "t", [], [])
    with pytest.raises(TraceError, match="is not replaced"):
        atlas([trace], tmp_path / "mine")


def test_nothing_to_ask(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="There is no trace"):
        atlas()
    with pytest.raises(TraceError, match="There is no trace"):
        atlas(datasets=tmp_path)
    with pytest.raises(InputError, match="not a folder"):
        atlas(datasets=tmp_path / "none")


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_an_axis_keeps_the_order_of_what_lies_on_it(claim: Claim) -> None:
    values = [claim.threshold * f + d for f in (0.5, 1, 2) for d in (0.1, 1, 30)]
    axis = drawing.axis(claim, [*values, float("nan"), float("inf")])
    places = [axis.at(v) for v in sorted(values)]
    assert places == sorted(places) and 0 <= places[0] <= places[-1] <= 100
    assert 0 < axis.at(claim.threshold) < 100
    assert axis.at(float("inf")) == 100
    assert len(axis.ticks) >= 2 and all(0 <= axis.at(v) <= 100 for v, _ in axis.ticks)


def test_each_dataset_is_read_by_what_there_is_or_says_why_not() -> None:
    for dataset in known_datasets():
        assert bool(dataset.why) != bool(dataset.name)
        assert dataset.source in SOURCES
        if dataset.map:
            assert (SHIPPED / f"{dataset.map}.toml").is_file()
    formats = {"swf", "swf-frontier"}  # which are no datasets
    read = {d.map for d in known_datasets()} | formats
    assert {m.stem for m in SHIPPED.glob("*.toml")} <= read


@pytest.mark.slow
def test_the_picture_for_a_phone_is_as_wide_as_one() -> None:
    atlas = evaluate([], shipped=shipped_answers())
    figure = plot(atlas.table, atlas.result(), PHONE)
    assert figure.get_figwidth() < 4.1  # of 390 pixels, 96 for an inch
    [ax] = figure.axes
    assert {label.get_fontsize() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())} == {
        7.5
    }


def test_the_short_table_has_titles_intervals_and_reasons() -> None:
    shipped = [f for f in shipped_answers() if f.cluster in ("Philly", "Alibaba openb")]
    table = evaluate([], shipped=shipped).table
    some = table[table["claim"] == "starts_out_of_order"]
    assert in_brief(some).query("cluster == 'Alibaba openb'").to_numpy().tolist() == [
        [
            *("Starts out of order are common", "Alibaba openb", "cannot be said"),
            *("9.50 % [4.03 %, 13.8 %]", "above 10 %", "The interval includes 10 %."),
        ]
    ]
    assert "cluster" not in in_brief(table[table["cluster"] == "Philly"])
