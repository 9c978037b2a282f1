"""Check the Gantt chart of a day against allocations counted minute by minute."""

from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from philly_analysis import Trace
from philly_analysis.errors import QueryError, TraceError
from philly_analysis.results import figures
from philly_analysis.trace.gantt import day_shares, draw, stacked
from tests.support.clusters import Rows, frame, write_tables
from tests.support.drawn_data import segments

DAY = datetime(2026, 3, 2)


def at(minute: int) -> datetime:
    return DAY + timedelta(minutes=minute)


def runs(*rows: tuple[str, str | None, int, int | None, int, int]) -> pd.DataFrame:
    """Return rows of ``server_runs`` with times in minutes of the day."""
    table = pd.DataFrame(rows, columns=["machine_id", "vc", "gpus", "held_gpus", "start", "end"])
    for name, minutes in (("started_at", "start"), ("until_at", "end")):
        table[name] = pd.to_datetime([at(m) for m in table[minutes]])
    return table


def test_cells_are_the_share_of_their_two_minutes() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(60):
        start, length = int(rng.integers(-300, 1440)), int(rng.integers(1, 700))
        if start + length > 0:
            gang = int(rng.choice([1, 3, 8, 16]))
            rows.append((f"m{rng.integers(3)}", "v", gang, min(gang, 4), start, start + length))
    shares = day_shares(runs(*rows), {"m0": 400, "m1": 300, "m2": 200, "m10": 8}, "gang", DAY)
    assert shares.servers == ["m0", "m1", "m2", "m10"] and shares.classes == [
        "1",
        "2-4",
        "5-8",
        ">8",
    ]
    expected = np.zeros((4, 4, 1440))
    for machine, _, gang, gpus, start, end in rows:
        of = {1: 0, 3: 1, 8: 2, 16: 3}[gang]
        expected[of, int(machine[1:]), max(start, 0) : end] += gpus
    expected /= np.array([400, 300, 200, 8])[None, :, None]
    assert shares.frac == pytest.approx(expected.reshape(4, 4, 720, 2).mean(axis=3), abs=1e-12)
    used = (expected * np.array([400, 300, 200, 8])[None, :, None]).mean(axis=2).sum()
    assert shares.allocated_frac == pytest.approx(used / 908)


def test_servers_hold_as_many_gpus_as_are_known() -> None:
    rows = runs(
        ("a", "x", 4, None, 0, 1440),  # not known how many: at most what the server has
        ("b", None, 8, 8, 0, 720),  # not listed
        ("c", "z", 6, 6, 0, 1440),  # more than it has
    )
    shares = day_shares(rows, {"a": 2, "c": 3, "d": 1}, "vc", DAY)
    assert shares.classes == ["(none)", "z", "x"]
    assert shares.frac[:, :, 0].sum(axis=0).tolist() == [1, 1, 1, 0]
    assert shares.frac[:, 1, -1].tolist() == [0, 0, 0]


def test_many_servers_share_rows_and_small_clusters_join_the_others() -> None:
    names = [f"s{i:04d}" for i in range(1025)]
    rows = runs(*((n, f"v{i // 3 % 9}", 1, 1, 0, 1440) for i, n in enumerate(names) if i % 3 != 1))
    shares = day_shares(rows, dict.fromkeys(names, 2), "vc", DAY)
    assert shares.per_row == 3 and shares.frac.shape == (8, 342, 720)
    assert shares.classes[-1] == "others" and len(shares.classes) == 8
    assert shares.frac[:, 0].sum(axis=0) == pytest.approx(2 / 6)
    seven = rows[rows["vc"].isin([f"v{i}" for i in range(7)])]
    assert "others" not in day_shares(seven, dict.fromkeys(names, 2), "vc", DAY).classes
    assert day_shares(rows[:512], dict.fromkeys(names[:512], 2), "vc", DAY).per_row == 2
    assert day_shares(rows[:9], dict.fromkeys(names[:512], 2), "vc", DAY).per_row == 1


def test_lines_stack_the_classes_of_a_server() -> None:
    frac = np.array([0.25, 0.3125])[:, None, None] * np.ones((2, 3, 1))
    lines = stacked(frac)
    assert lines.shape == (2, 24, 1)
    assert lines[0, :8, 0].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert lines[1, :8, 0] == pytest.approx([0, 0, 1, 1, 0.5, 0, 0, 0])
    assert stacked(np.full((2, 300, 1), 0.25)).tolist() == np.full((2, 300, 1), 0.25).tolist()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    # on the second day all four GPUs are held for six hours; on the first two for eight
    spans = {"a": (-1440, -960, 2), "b": (0, 360, 4), "c": (2000, 2010, 1)}
    jobs = [
        (job, gpus, vc, at(start))
        for (job, (start, _, gpus)), vc in zip(spans.items(), ("x", "y$", None), strict=True)
    ]
    tables: dict[str, Rows] = {
        "jobs": frame("jobs", ("job_id", "gpus", "vc", "submitted_at"), jobs),
        "attempts": [(job, 1, at(start), at(end)) for job, (start, end, _) in spans.items()],
        "placements": [
            (job, 1, "m0" if i < 2 else "m1", i % 2)
            for job, (*_, gpus) in spans.items()
            for i in range(gpus)
        ],
        "machines": {"m0": 2, "m1": 2},
    }
    folder = tmp_path_factory.mktemp("gantt")
    return Trace(write_tables(folder / "t", tables, "simulate", name="two"))


def test_the_busiest_day_is_drawn(trace: Trace) -> None:
    [ax] = trace.gantt().axes
    assert ax.get_title("left") == "two, Monday 2026-03-02: 25.0 % of GPU time allocated"
    [image] = ax.get_images()
    cells = np.asarray(image.get_array())
    assert cells.shape == (16, 720, 3)
    assert (cells[:, 180:] == 1).all() and (cells[:, :180] != 1).any(axis=2).all()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["m0", "m1"]
    assert ax.get_ylabel() == "2 servers"


@pytest.mark.parametrize(("servers", "named"), [(40, 40), (41, 0)])
def test_few_servers_are_named(servers: int, named: int) -> None:
    rows = runs(("s00", "v", 1, 1, 0, 60))
    _, [ax] = figures.canvas()
    names = dict.fromkeys([f"s{i:02d}" for i in range(servers)], 1)
    shares = day_shares(rows, names, "gang", DAY)
    draw(ax, shares, "gang")
    assert len(ax.get_yticklabels()) == named
    *_, rows_from, rows_to = ax.get_images()[0].get_extent()
    assert (rows_from, rows_to) == (stacked(shares.frac).shape[1], 0)
    if named:  # each name is in the middle between two lines, and so of its server's rows
        [between] = segments(ax)
        ends = np.array([0, *between[:, 0, 1], rows_from])
        assert np.diff(ends) == pytest.approx(rows_from / servers)
        assert ax.get_yticks() == pytest.approx((ends[1:] + ends[:-1]) / 2)
        assert between[:, :, 0].tolist() == [[0, 24]] * (servers - 1)
    hours = [label.get_text() for label in ax.get_xticklabels()]
    assert hours == [f"{at:02.0f}:00" for at in ax.get_xticks()] and ax.get_xlim() == (0, 24)


def test_another_day_and_colours_by_cluster(trace: Trace) -> None:
    [ax] = trace.gantt("2026-03-01", by="vc").axes
    assert "Sunday 2026-03-01: 16.7 %" in ax.get_title("left")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x"]  # type: ignore[union-attr]
    [ax] = trace.gantt(date(2026, 3, 2), by="vc").axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [r"y\$"]  # type: ignore[union-attr]


def test_days_and_colours_that_are_none_raise(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="'monday' is no day"):
        trace.gantt("monday")
    with pytest.raises(QueryError, match="by 'gang' or by 'vc'"):
        trace.gantt(by="user")  # type: ignore[arg-type]
    with pytest.raises(
        TraceError, match="2026-04-01; the log has 2026-03-01 00:00:00 to 2026-03-03"
    ):
        trace.gantt("2026-04-01")
