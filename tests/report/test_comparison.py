"""Check comparisons of traces against numbers worked out by hand."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import compare
from philly_analysis.errors import TraceError
from philly_analysis.report import comparison_groups
from philly_analysis.report.comparison import (
    in_words,
    side_by_side,
)
from philly_analysis.report.comparison_figures import (
    plot,
    plot_activity,
    plot_groups,
    plot_times,
)
from philly_analysis.report.comparison_groups import (
    changes_in,
    group_changes,
    user_count,
    user_table,
)
from philly_analysis.report.comparison_names import trace_names
from philly_analysis.report.comparison_wording import (
    activity_sentences,
    group_sentences,
    without_queue,
)
from philly_analysis.results import Result
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.trace import Trace
from philly_analysis.workload.outcomes import measures
from tests.support.clusters import COLUMNS, Rows, frame, write_tables
from tests.support.drawn_data import misleading

T = datetime(2026, 3, 2)


def trace(
    tmp_path: Path,
    name: str,
    starts_ends: list[tuple[int, int]],
    reasons: list[tuple[str, str]],
    machines: Sequence[tuple[str, int]] = (("m0", 2), ("m1", 2)),
    submitted_at: datetime | list[datetime] = T,
    flag: list[str | None] | None = None,
) -> Path:
    """Write a trace of two one-GPU jobs on m0, submitted at midnight, with runs in minutes."""
    minutes = [(T.replace(minute=a), T.replace(minute=b)) for a, b in starts_ends]
    jobs = ["a", "b"][: len({j for j, _ in reasons})]
    number = [sum(j == k for k, _ in reasons[: i + 1]) for i, (j, _) in enumerate(reasons)]
    attempts = [
        (job, n, *span, 1, reason)
        for (job, reason), n, span in zip(reasons, number, minutes, strict=True)
    ]
    tables: dict[str, Rows] = {
        "jobs": pl.DataFrame(
            {
                "job_id": jobs,
                "gpus": 1,
                "submitted_at": submitted_at,
                "vc": [f"v{j}" for j in jobs],
                "flag": pl.Series(flag or [None] * len(jobs), dtype=pl.String),
            }
        ),
        "machines": machines,
        "attempts": frame("attempts", (*COLUMNS["attempts"], "gpus", "end_reason"), attempts),
        "placements": [(job, n, "m0", 0) for job, n, *_ in attempts],
    }
    return write_tables(tmp_path / name, tables, "simulate", name=name)


BOTH = [("a", "completed"), ("b", "completed")]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    tmp_path = tmp_path_factory.mktemp("comparison")
    # one: a runs 0-10, b waits and runs 10-40; two: a is stopped at 5 for b, which runs 5-35
    one = trace(tmp_path, "one", [(0, 10), (10, 40)], BOTH)
    two = trace(tmp_path, "two", [(0, 5), (35, 40), (5, 35)], [("a", "preempted"), *BOTH])
    return compare([one, two])


def test_single_numbers(result: Result) -> None:
    wide = side_by_side(result).set_index("measure")
    expected = {
        "jobs": (2, 2),
        "mean_jct_s": (25 * 60, 37.5 * 60),
        "mean_wait_s": (5 * 60, 17.5 * 60),
        "makespan_s": (40 * 60, 40 * 60),
        "held_frac": (0.25, 0.25),
        # one of m0's two GPUs is always allocated: one of three idle GPUs is on its server
        "fragmented_frac": (1 / 3, 1 / 3),
        # slowdowns 1 and 4/3; and 4 and 35/30
        "vc_fairness": ((7 / 3) ** 2 / (2 * (1 + 16 / 9)), (31 / 6) ** 2 / (2 * (16 + 49 / 36))),
        "preemptions": (0, 1),
        "migrations": (0, 0),
    }
    for measure, values in expected.items():
        assert tuple(wide.loc[measure, ["one", "two"]]) == pytest.approx(values), measure


@pytest.mark.slow
def test_allocated_time_is_of_the_complete_part_of_the_log(tmp_path: Path) -> None:
    # a began before the log, which is complete from the tenth minute on
    when = [T - timedelta(days=1), T.replace(minute=10)]
    cut, whole = (
        trace(tmp_path, name, [(0, 15), (20, 40)], BOTH, submitted_at=when, flag=flag)
        for name, flag in (("cut", ["left_truncated", None]), ("whole", None))
    )
    wide = side_by_side(compare([cut, whole])).set_index("measure")
    # the last submission is in the tenth minute. No submission is later in "cut", so that all its
    # complete time counts; in "whole" the first ten minutes count, in which a runs
    assert tuple(wide.loc["held_frac", ["cut", "whole"]]) == pytest.approx(
        ((5 + 20) / (4 * 30), 10 / (4 * 10))
    )
    # while one of m0's GPUs is allocated, the other is on a partly used server
    assert wide.loc["fragmented_frac", "cut"] == pytest.approx(25 / (4 * 30 - 25))


def test_the_drain_is_no_idle_time_and_the_warmup_is_cut(tmp_path: Path) -> None:
    # a runs 0-10; b runs 20-59, after the last submission at 20
    times = [T.replace(minute=m) for m in (0, 20)]
    path = trace(tmp_path, "drain", [(0, 10), (20, 59)], BOTH, submitted_at=times)
    with Trace(path) as opened:
        assert measures(opened)["held_frac"] == pytest.approx(10 / (4 * 20))
        cut = measures(opened, warmup=0.25)
    assert cut["held_frac"] == pytest.approx(5 / (4 * 15)) and cut["jobs"] == 1
    # no job waits: slowdowns are 1
    assert cut["mean_slowdown"] == cut["p99_bounded_slowdown"] == 1


def test_slowdowns_by_hand(result: Result) -> None:
    wide = side_by_side(result).set_index("measure")
    assert wide.loc["mean_slowdown", "one"] == pytest.approx((1 + 4 / 3) / 2)
    assert wide.loc["p99_slowdown", "one"] == pytest.approx(1 + 0.99 / 3)


def test_words_and_curves(result: Result) -> None:
    assert result.fact("two_p50_jct_s") == 37.5 * 60
    [sentence] = result.sentences
    assert "50.0 % longer" in sentence and "Under two" in sentence
    assert "blocks" in result.caveats[-1] and result.synthetic
    assert {"completions", "snapshot"} <= set(result.reads)
    curve = result.table.query("trace == 'one' and measure == 'jct_s'")["value"]
    assert not result.table.query("by == 'user'").empty
    assert result.table.index.tolist() == list(range(len(result.table)))
    assert (curve.iloc[0], curve.iloc[-1]) == (600, 2400)


def test_the_figure_has_the_times_of_each_trace_and_the_use_of_gpu_time(result: Result) -> None:
    times, waits, use = plot(result).axes
    for ax, one, two in ((times, (600, 2400), (2100, 2400)), (waits, (1, 600), (300, 1800))):
        ends = [(line.get_xdata()[0], line.get_xdata()[-1]) for line in ax.lines]  # type: ignore[index]
        assert ends == [pytest.approx(one), pytest.approx(two)]
    heights = [round(bar.get_height(), 6) for bar in use.patches]  # type: ignore[attr-defined]
    assert heights == pytest.approx([25, 100 / 3] * 2, abs=1e-5)
    for drawn in (plot(result), plot_times(result), plot_groups(result), plot_activity(result)):
        assert misleading(drawn) == []


def test_only_jobs_that_ended_in_each_are_compared(tmp_path: Path) -> None:
    one = trace(tmp_path, "one", [(0, 10), (10, 40)], [("a", "completed"), ("b", "preempted")])
    result = compare([one, trace(tmp_path, "two", [(5, 15)], BOTH[:1])])
    less, who = result.sentences
    assert who == "1 job that ended in each is compared; excluded: 1 in one."
    assert "50.0 % longer than the 10 min" in less
    assert (result.fact("common_jobs"), result.fact("one_other_jobs")) == (1, 1)
    wide = side_by_side(result).set_index("measure")
    assert tuple(wide.loc["jobs", ["one", "two"]]) == (1, 1)
    assert tuple(wide.loc["mean_jct_s", ["one", "two"]]) == (10 * 60, 15 * 60)
    assert wide.loc["preemptions", "one"] == 0  # that was b
    assert wide.loc["makespan_s", "one"] == 40 * 60
    assert "cover all jobs of a trace" in result.caveats[0]
    with pytest.raises(TraceError, match="at least two"):
        compare([one])


@pytest.mark.slow
def test_a_job_id_used_again_is_another_job(tmp_path: Path) -> None:
    one = trace(tmp_path, "one", [(0, 10), (10, 40)], BOTH)
    earlier = T - timedelta(minutes=5)
    result = compare([one, trace(tmp_path, "two", [(0, 10)], BOTH[:1], submitted_at=earlier)])
    assert "Different jobs are compared (2 in one, 1 in two)" in result.sentences[-1]
    assert result.fact("common_jobs") == 0
    assert result.fact("one_mean_jct_s") == 25 * 60
    assert result.fact("two_mean_jct_s") == 15 * 60


@pytest.mark.slow
def test_traces_of_one_name_are_numbered(tmp_path: Path) -> None:
    one = trace(tmp_path, "one", [(0, 10)], BOTH[:1])
    result = compare([one, one])
    assert list(side_by_side(result).columns[-2:]) == ["one (1)", "one (2)"]
    assert not any("are of all jobs" in text for text in result.caveats), "all jobs are common"


@pytest.fixture
def what_ifs(tmp_path: Path) -> list[Path]:
    def simulated(folder: str, under: str, name: str = "it") -> Path:
        made = trace(tmp_path / folder, name, [(0, 10)], BOTH[:1])
        file = made / "manifest.json"
        manifest = Manifest.from_json(file.read_text())
        note = f"Simulated under {under} on 2 machines with 4 GPUs."
        file.write_text(replace(manifest, notes=(note,)).to_json())
        return made

    return [
        simulated("x", "fifo (backfill=False, first_fit=False)"),
        simulated("y", "fifo (backfill=True, first_fit=False)"),
        simulated("z", "srtf"),
        simulated("", "easy", "easy-64"),
    ]


def test_a_trace_is_named_by_folder_policy_and_differing_knobs(what_ifs: list[Path]) -> None:
    with ExitStack() as stack:
        names = trace_names([stack.enter_context(Trace(path)) for path in what_ifs])
    assert names == [
        "x/it (fifo, backfill=False)",
        "y/it (fifo, backfill=True)",
        "z/it (srtf)",
        "easy-64",
    ]


@pytest.mark.slow
def test_what_ifs_are_compared_by_their_names(tmp_path: Path, what_ifs: list[Path]) -> None:
    words = in_words(compare(what_ifs))
    assert len(set(words)) == 5
    assert list(words.iloc[1])[1:] == ["10 min"] * 4
    page = tmp_path / "page"
    compare(what_ifs, findings="run_time", out=page)
    text = (page / "report.html").read_text("utf-8")
    assert text.count('<section id="run_time-') == 4
    assert '<details class="data" open>' in text and "share of jobs" in text


def many(tmp_path: Path, name: str, waits_min: Sequence[int], *, since: datetime = T) -> Path:
    """Write a trace of 60 jobs an hour apart that wait as given and run 10 minutes.

    Every third job has 8 GPUs and is of the user <i>y</i> and cluster v; the others have 1 and are
    of x and w.
    """
    jobs, attempts = [], []
    for i in range(60):
        job, at = f"j{i:03d}", since + timedelta(hours=i)
        start = at + timedelta(minutes=waits_min[i % len(waits_min)])
        of = ("v", "<i>y</i>", 8) if i % 3 == 2 else ("w", "x", 1)
        jobs.append((job, *of, at, None))
        attempts.append((job, 1, start, start + timedelta(minutes=10)))
    tables: dict[str, Rows] = {"jobs": jobs, "attempts": attempts}
    return write_tables(tmp_path / name, tables, "simulate", name=name, synthetic=False)


def test_groups_that_gain_and_lose(tmp_path: Path) -> None:
    # narrow jobs wait 20 minutes less, wide ones 30 minutes more
    before, after = many(tmp_path, "before", (30, 30, 10)), many(tmp_path, "after", (10, 10, 40))
    result = compare([before, after])
    changes = {(c.by, c.group): c for c in changes_in(result.table)}
    narrow, wide = changes["gang", "1"], changes["gang", "5-8"]
    assert (narrow.jobs, narrow.before_s, narrow.after_s) == (40, 40 * 60, 20 * 60)
    assert (narrow.change.effect, narrow.change.low, narrow.change.high) == pytest.approx(
        (-50, -50, -50)
    )
    assert wide.change.effect == pytest.approx(150)
    assert changes["vc", "w"].change == changes["user", "x"].change == narrow.change
    assert [c.group for c in changes_in(result.table) if c.by == "user"] == ["x", "<i>y</i>"]
    assert list(group_sentences(result)) == [
        "Under after the mean completion time is shorter for jobs of 1 GPU; is longer for jobs of "
        "5-8 GPUs.",
        "1 of 2 users has a longer mean completion time under after than under before.",
    ]
    assert list(user_table(result.table)["change"]) == [
        "−50 % (−50 to −50)",
        "+150 % (+150 to +150)",
    ]
    first = result.sentences[0]
    assert first.endswith("%, which includes no change).")
    # (2 * 20 + 50) / 3 against (2 * 40 + 20) / 3 minutes
    assert "10.0 % shorter than the 33.3 min" in first
    assert result.facts.after_mean_jct_change_pct == pytest.approx(-10)
    assert result.facts.after_mean_jct_change_low_pct < -10 < 0  # type: ignore[operator]
    gang, vc = plot_groups(result).axes
    assert [ax.texts[-1].get_text() for ax in (gang, vc)] == ["By gang size", "By virtual cluster"]
    assert [label.get_text() for label in gang.get_yticklabels()] == ["5-8 GPUs", "1 GPU"]
    assert [label.get_text() for label in vc.get_yticklabels()] == ["v", "w"]


@pytest.mark.slow
def test_twice_as_long_is_a_ratio_and_equal_times_are_no_change(tmp_path: Path) -> None:
    short, long, other = (
        many(tmp_path, name, waits) for name, waits in (("a", (0,)), ("b", (10,)), ("c", (9, 11)))
    )
    assert (
        "20 min, 2.0 times the 10 min under a (95 % interval 2.0 to 2.0 times)."
        in (compare([short, long]).sentences[0])
    )
    sentence = compare([long, other]).sentences[0]
    assert sentence.endswith("20 min, as under b.")


@pytest.mark.slow
def test_other_jobs_are_compared_by_gang_size(tmp_path: Path) -> None:
    one, two = many(tmp_path, "a", (0,)), many(tmp_path, "b", (10, 30, 20), since=T.replace(hour=1))
    result = compare([one, two])
    changes = {(c.by, c.group): c.change for c in changes_in(result.table)}
    assert changes.keys() == {("gang", "1"), ("gang", "5-8")}
    assert changes["gang", "1"].effect == pytest.approx(200)
    assert changes["gang", "5-8"].effect == pytest.approx(200)
    assert user_table(result.table).empty and "users" not in " ".join(group_sentences(result))
    waiting = pl.DataFrame(
        {"job_id": ["a"], "gpus": [1], "submitted_at": [T], "started_at": [T], "ended_at": [None]},
        schema_overrides={"ended_at": pl.Datetime},
    )
    result = compare({"a": one, "never": waiting})
    assert result.sentences[-1].endswith("compared: no job in never has a known end.")
    assert list(activity_sentences(result)) == ["No job waits for GPUs under a."]


def test_activity_over_time(result: Result) -> None:
    allocated, waiting = plot_activity(result).axes
    for ax, gpus in ((allocated, (1, 1)), (waiting, (0.25, 35 / 40))):
        # a waits for none, b for ten of 40 minutes; then a again from 5 to 35, b for 5
        means = [float(np.mean(patch.get_data()[0])) for patch in ax.patches]  # type: ignore[attr-defined]
        assert means == pytest.approx(gpus)
        edges = ax.patches[0].get_data().edges  # type: ignore[attr-defined]
        assert (edges[0], edges[-1]) == pytest.approx((0, 40 / 60 / 24), abs=1e-4)
        assert np.ptp(np.diff(edges)) < 1e-9
    allocated_words, waiting_words = activity_sentences(result)
    assert allocated_words == ("25.0 % of the GPU time is allocated under one, 25.0 % under two.")
    assert waiting_words == ("On average jobs wait for 0.25 GPUs under one, 0.88 under two.")


def test_the_page_opens_with_three_answers(tmp_path: Path) -> None:
    before, after = many(tmp_path, "before", (30, 30, 10)), many(tmp_path, "after", (10, 10, 40))
    page = compare([before, after]).save(tmp_path / "page")
    text = page.read_text("utf-8")
    assert "<i>y" not in text and "&lt;i&gt;y&lt;/i&gt;" in text
    assert "<h1>after against before</h1>" in text and 'class="cards three"' in text
    at = [
        text.index(f'<section class="card" id="{n}"') for n in ("comparison", "groups", "activity")
    ]
    assert at == sorted(at) and at[-1] < text.index('<section id="measures"')
    assert "synthetic" not in text.split("</header>")[0].split("</style>")[1].lower()


def test_the_largest_clusters_and_the_users_who_moved_most_are_shown() -> None:
    jobs = 120
    before = pd.DataFrame(
        {
            "job_id": range(jobs),
            "gpus": 1,
            "vc": [f"v{min(i % 12, i // 12)}" for i in range(jobs)],
            "user": [f"u{i % 12:02d}" for i in range(jobs)],
            "jct_s": 100.0,
            "block": np.arange(jobs) // 4,
            "gang": "1",
        }
    )
    moved = {f"u{i:02d}": float(i - 6) for i in range(12)}  # u06 stays
    after = before.assign(jct_s=100 + before["user"].map(moved))
    changes = list(group_changes("after", before, after, same=True))
    assert [c.group for c in changes if c.by == "gang"] == ["1"]
    largest = before["vc"].value_counts().head(8)
    assert [c.group for c in changes if c.by == "vc"] == list(largest.index)
    of_users = ["u00", "u01", "u02", "u03", "u04", "u07", "u08", "u09", "u10", "u11"]
    assert [c.group for c in changes if c.by == "user"] == of_users
    assert user_count(before, after) == (5, 12)
    one = [rows.assign(vc="v") for rows in (before, after)]
    assert "vc" not in {c.by for c in group_changes("after", *one, same=True)}
    assert {c.by for c in group_changes("after", before, after, same=False)} == {"gang"}


def test_traces_without_a_queue_have_nothing_to_compare() -> None:
    rows: list[tuple[object, ...]] = [
        (n, None, None, "mean_wait_s", None, wait_s, "s") for n, wait_s in (("a", 0.0), ("b", 0.4))
    ]
    rows += [
        (n, "time", at, "allocated_gpus", None, g, "GPUs")
        for n, at, g in (("a", "1", 8.0), ("a", "2", 16.0), ("b", "1", 12.0))
    ]
    table = pd.DataFrame(rows, columns=comparison_groups.COLUMNS)
    none, load = without_queue(table, ["a", "b"], {"a": 64, "b": 24})
    assert none.startswith("No job waits in any of the traces")
    # 24 GPUs over 12 is less than 64 over 16
    assert "12.0 of 24 GPUs are allocated under b: a queue needs about 2 times the load." in load
    table.loc[0, "value"] = 5.0
    assert list(without_queue(table, ["a", "b"], {})) == []
