"""Check the clock offset for equal, different and changing clocks."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import ingest
from philly_analysis.analyses import clock_offset, host_clock_offset
from philly_analysis.analyses.shared.clock_steps import clock_steps
from philly_analysis.analyses.shared.offset_periods import SURE_Z, Period, periods
from philly_analysis.results import Result, figures
from philly_analysis.trace.trace import Trace
from tests.analyses.samples import MINUTE, Tables, by_attempt, minutes_of, resampled
from tests.support import archives
from tests.support.clusters import tables_of, write_tables
from tests.support.facts import number
from tests.support.slow import quick_first
from tests.support.small_traces import at

BEGIN_MIN = 27 * 1440
ORIGIN = at(BEGIN_MIN)
"""Monday, 2017-10-30."""

DST_ENDS_AT = datetime(2017, 11, 5, 9)
MACHINES, DAYS = 4, 14


@pytest.fixture(scope="module")
def workload() -> Tables:
    """Two weeks of attempts on four machines of one GPU, busy while allocated and idle between."""
    rng = np.random.default_rng(7)
    jobs: list[tuple[object, ...]] = []
    attempts, placements, gpu, host = [], [], [], []
    for machine in range(MACHINES):
        busy = np.zeros(DAYS * 1440, bool)
        minute = 30.0
        while minute < DAYS * 1440 - 400:
            length = float(rng.integers(15, 200)) + rng.random()
            name = f"application_{1509321600000}_{machine}{len(jobs):05}"
            began, ended = (BEGIN_MIN + t for t in (minute, minute + length))
            jobs.append((name, "v", f"u{machine}", 1, began, "Pass"))
            attempts.append((name, 1, began, ended))
            placements.append((name, 1, f"m{machine}", 0))
            busy[int(minute) : int(np.ceil(minute + length))] = True
            minute += length + float(rng.integers(20, 90))
        noise = rng.normal(0, 25, len(busy))
        for m, used in enumerate(busy):
            util = float(np.clip((60 if used else 5) + noise[m], 0, 100))
            gpu.append((BEGIN_MIN + m, f"m{machine}", [util]))
            host.append((BEGIN_MIN + m, f"m{machine}", util / 4))
    return tables_of(
        jobs=jobs,
        attempts=attempts,
        machines={f"m{machine}": 1 for machine in range(MACHINES)},
        placements=placements,
        gpu_samples=gpu,
        host_samples=host,
    )


def shifted(minutes: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda samples: samples.with_columns(pl.col("sampled_at") + timedelta(minutes=minutes))


def as_pacific_strings(samples: pl.DataFrame) -> pl.DataFrame:
    """What a reader sees who takes Pacific wall time for UTC; the later reading overwrites."""
    behind = (
        pl.when(pl.col("sampled_at") < DST_ENDS_AT)
        .then(pl.duration(hours=7))
        .otherwise(pl.duration(hours=8))
    )
    return (
        samples.sort("sampled_at")
        .with_columns(sampled_at=pl.col("sampled_at") - behind)
        .unique(["sampled_at", "machine_id"], keep="last")
    )


def with_samples(out: Path, tables: Tables, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Path:
    new = {k: change(v) if k.endswith("_samples") else v for k, v in tables.items()}
    return write_tables(out, new)


@pytest.fixture(scope="module")
def agreeing(workload: Tables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    path = with_samples(tmp_path_factory.mktemp("clocks") / "t", workload, shifted(0))
    with Trace(path) as trace:
        yield trace


@pytest.mark.parametrize(("minutes", "words"), [(2, "agrees"), (-2, "agrees"), (3, "is 3 minutes")])
def test_clocks_two_minutes_apart_agree(minutes: int, words: str) -> None:
    period = Period(at(0), at(1), minutes, -20.0, 9.0, 1.0, 100)
    assert clock_offset._difference(period).startswith(words)


@pytest.mark.parametrize(("seconds", "limits"), [(120, False), (121, True)])
def test_samples_of_more_than_two_minutes_limit_the_precision(
    monkeypatch: pytest.MonkeyPatch, seconds: int, limits: bool
) -> None:
    none = pd.DataFrame(columns=["week", "event", "offset_min", "events", "step_pct", "sd_pct"])
    monkeypatch.setattr(clock_offset, "clock_steps", lambda *_: none)
    answers = {
        "manager_starts": "select 0.0 as lag_s limit 0",
        "longest_gpu_reading": f"select to_seconds({seconds}) as longest",
    }
    trace: Any = SimpleNamespace(answer=lambda name: duckdb.sql(answers[name]))
    assert any("A sample covers" in c for c in clock_offset.compute(trace).caveats) == limits


@pytest.mark.slow
def test_clocks_that_agree_are_said_to(agreeing: Trace) -> None:
    for analysis in (clock_offset, host_clock_offset):
        result = analysis.compute(agreeing)
        assert result.fact("clocks_agree") == "yes"
        assert result.fact("offset_min") == 0
        assert result.warnings == ()


@pytest.mark.parametrize(
    ("analysis", "offset"), quick_first([(clock_offset, 37), (host_clock_offset, -300)])
)
def test_an_offset_is_found_to_the_minute(
    tmp_path: Path, workload: Tables, analysis: ModuleType, offset: int
) -> None:
    with Trace(with_samples(tmp_path / "t", workload, shifted(offset))) as trace:
        result = analysis.compute(trace)
    assert result.fact("offset_min") == result.fact("first_offset_min") == offset
    assert result.fact("periods") == 1
    assert result.fact("clocks_agree") == "no"
    assert len(result.warnings) == 1
    assert result.fact("weakest_z") > SURE_Z
    assert "<svg" in figures.svg(analysis.plot(result))


@pytest.mark.slow
def test_a_change_of_summer_time_parts_two_periods(tmp_path: Path, workload: Tables) -> None:
    with Trace(with_samples(tmp_path / "t", workload, as_pacific_strings)) as trace:
        result = clock_offset.compute(trace)
        offsets = periods(clock_steps(trace, "gpu_clock_readings"))
    assert [p.offset_min for p in offsets] == [-420, -480]
    assert [p.from_at for p in offsets] == [datetime(2017, 10, 30), datetime(2017, 11, 6)]
    assert "420 minutes behind" in result.warnings[0]
    assert "480 minutes behind" in result.warnings[1]


@pytest.mark.slow
@pytest.mark.parametrize("behind_min", [0, 420])
@pytest.mark.parametrize("seconds", [7.5, 15.0, 30.0, 300.0])
def test_an_offset_is_found_at_every_rate(
    seconds: float, behind_min: int, tmp_path: Path, workload: Tables
) -> None:
    tables = resampled(workload, seconds)
    with Trace(with_samples(tmp_path / "t", tables, shifted(-behind_min))) as trace:
        for analysis in (clock_offset, host_clock_offset):
            result = analysis.compute(trace)
            assert result.fact("offset_min") == -behind_min
            assert result.fact("clocks_agree") == ("no" if behind_min else "yes")
            assert any("A sample covers up to" in c for c in result.caveats) == (seconds > 60)


@pytest.mark.slow
def test_samples_of_nothing_but_noise_say_nothing(tmp_path: Path, workload: Tables) -> None:
    rng = np.random.default_rng(1)
    noise = workload["gpu_samples"].with_columns(
        util_pct=pl.Series([[u] for u in rng.random(workload["gpu_samples"].height) * 100])
    )
    path = with_samples(tmp_path / "t", workload | {"gpu_samples": noise}, shifted(0))
    with Trace(path) as trace:
        result = clock_offset.compute(trace)
    assert result.fact("clocks_agree") == "cannot say"
    assert result.fact("offset_min") is None and result.warnings == ()


@pytest.mark.slow
def test_the_steps_are_those_of_a_walk(tmp_path: Path, workload: Tables) -> None:
    # a third of the attempts: few enough that all are drawn
    some = workload["attempts"].filter(pl.col("job_id").str.tail(1).is_in(["0", "3", "6", "9"]))
    workload = workload | {
        "attempts": some,
        "placements": workload["placements"].join(some, on=["job_id", "attempt"], how="semi"),
    }
    with Trace(with_samples(tmp_path / "t", workload, shifted(0))) as trace:
        steps = clock_steps(trace, "gpu_clock_readings")
    rows = {(row.week, row.event, row.offset_min): row for row in steps.itertuples()}
    samples = {(r[0], r[1]): r[2][0] for r in workload["gpu_samples"].iter_rows()}
    for week in (ORIGIN, ORIGIN + timedelta(weeks=1)):
        for offset in (0, 7):
            changes = []
            for a in by_attempt(workload).values():
                end = a["ended_at"].replace(second=0, microsecond=0)
                if not week <= end < week + timedelta(weeks=1):
                    continue
                machine = a["held"][0][0]
                after, before = (
                    [samples.get((end + (offset + s * k) * MINUTE, machine)) for k in range(1, 11)]
                    for s in (1, -1)
                )
                utils = [[u for u in side if u is not None] for side in (after, before)]
                if len(utils[0]) == len(utils[1]) == 10:
                    changes.append((sum(utils[0]) - sum(utils[1])) / 10)
            row = rows[pd.Timestamp(week), "end", offset]
            assert row.events == len(changes) > 50
            assert row.step_pct == pytest.approx(np.mean(changes), rel=1e-6)
            assert row.sd_pct == pytest.approx(np.std(changes, ddof=1), rel=1e-6)


@pytest.mark.slow
def test_no_week_has_more_events_than_are_drawn(agreeing: Trace, workload: Tables) -> None:
    drawn = agreeing.sql(
        "select week, event, count(*) from clock_events group by all order by all"
    ).fetchall()
    ends = [minutes_of(a)[-1] for a in by_attempt(workload).values()]
    assert len(ends) > 400
    assert {n for *_, n in drawn} == {200}


@pytest.mark.parametrize(("events", "lines"), [(9, 0), (10, 1)])
def test_a_step_of_ten_events_is_drawn(events: int, lines: int) -> None:
    table = pd.DataFrame({"from_at": [pd.Timestamp(ORIGIN)], "until_at": pd.Timestamp(ORIGIN)})
    table = table.assign(event="end", events=events, step_pct=-5.0, offset_min=0, found_min=None)
    figure = clock_offset.plot(Result("clock_offset", table))
    labels = [str(line.get_label()) for ax in figure.axes for line in ax.lines]
    assert sum("where attempts end" in label for label in labels) == lines


def test_weeks_of_one_offset_are_one_period() -> None:
    offsets = np.arange(-60, 61)
    step = np.where(np.abs(offsets - 5) <= 10, -20.0 + 2 * np.abs(offsets - 5), 0.0)
    weeks = pd.date_range("2017-10-02", periods=6, freq="7D")
    steps = pd.concat(
        pd.DataFrame(
            {
                "week": w,
                "event": "end",
                "offset_min": offsets,
                "events": 100,
                "step_pct": step,
                "sd_pct": 10.0,
            }
        )
        for w in weeks
    )
    [offset] = periods(steps)
    assert (offset.offset_min, offset.events) == (5, 600)
    # sd of the pooled changes is that of the weeks, which share one mean
    assert offset.z == pytest.approx(20 / (10 / np.sqrt(600)), rel=0.01)


@pytest.mark.slow
def test_manager_starts_check_the_job_log(
    agreeing: Trace, tmp_path: Path, workload: Tables
) -> None:
    result = clock_offset.compute(agreeing)
    [row] = agreeing.answer("manager_starts").fetchall()
    # the ids name 2017-10-30 00:00 UTC; the first job starts and is submitted at 00:30
    assert row == (ORIGIN, workload["jobs"].height, ORIGIN + 30 * MINUTE, 1_800.0)
    assert any("nor ahead by" in s for s in result.sentences)

    early = workload["jobs"].with_columns(pl.col("submitted_at") - timedelta(hours=7))
    path = with_samples(tmp_path / "early", workload | {"jobs": early}, shifted(0))
    with Trace(path) as trace:
        result = clock_offset.compute(trace)
    assert result.fact("soonest_job_s") == -6.5 * 3600
    assert any("is not in UTC" in s for s in result.sentences)


def test_the_soonest_job_after_a_start_of_the_manager_counts() -> None:
    trace: Any = SimpleNamespace(answer=lambda _: duckdb.sql("select unnest([40.0, 5, 90]) lag_s"))
    facts, sentence = clock_offset._manager_starts(trace)
    assert [fact.value for fact in facts] == [3, 5.0]
    assert "the first job follows after 5" in sentence and "the job log is in UTC" in sentence


@pytest.fixture(scope="module")
def real(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clock")
    raw = archives.multigpu_archive(traces, folder / "raw")
    ingest("philly", raw, folder / "trace")
    return folder / "trace"


@pytest.mark.real_data
def test_after_ingest_of_real_philly_the_clocks_agree(real: Path) -> None:
    with Trace(real) as trace:
        result = host_clock_offset.compute(trace)
    assert result.fact("clocks_agree") == "yes"
    assert result.fact("offset_min") == result.fact("first_offset_min") == 0
    assert number(result, "weakest_z") > 8
    assert 0 < number(result, "soonest_job_s") < 60


@pytest.mark.real_data
def test_real_philly_read_as_equal_strings_is_seven_and_eight_hours_off(
    real: Path, tmp_path: Path
) -> None:
    with Trace(real) as trace:
        tables = {t: trace.answer(t).pl() for t in trace.tables}
    with Trace(with_samples(tmp_path / "t", tables, as_pacific_strings)) as trace:
        offsets = periods(clock_steps(trace, "host_clock_readings"))
    assert [p.offset_min for p in offsets] == [-420, -480]
    assert offsets[0].until_at == offsets[1].from_at == datetime(2017, 11, 6)
    assert all(p.z > SURE_Z and p.z > 1.5 * p.rival_z for p in offsets)
    assert all(-14 < p.step_pct < -8 for p in offsets)  # published evidence: about -10 points
