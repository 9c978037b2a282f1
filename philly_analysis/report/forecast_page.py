"""Forecast waits of a trace's jobs, and write the page of the forecasts."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.errors import UnknownNameError
from philly_analysis.forecasts import (
    DAYS,
    Believed,
    Forecast,
    Forecaster,
    Queue,
    Request,
    WaitDistribution,
    backtest_sentences,
    completion_sentence,
    completion_times,
    draw_completion,
    passed_runs,
    read_queue,
    run_times_by_gang,
    scaled_runs,
    week_table,
)
from philly_analysis.progress import step
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Card, Chapter, section
from philly_analysis.results import Result, check_path, count, duration, figures, gang_label
from philly_analysis.simulator import Speed
from philly_analysis.trace import Trace, TraceLike, open_trace

QUESTION = "When will a job start?"
_LEDE = (
    "Each forecast uses only what was recorded before the job's submission. Intervals are adjusted "
    "to the outcomes of recent forecasts of the same gang class. The job is assumed to be eligible "
    "from its submission on: holds and dependencies do not count. Times are in UTC."
)
_SHADES_S = (0, 10, 60, 600, 3_600, 36_000, 86_400, 604_800)
"""Median waits in seconds that the scale of colours names."""
_HOURS = 6
"""Hours of a column of the weekly table on the page."""


def forecast_of(
    trace: TraceLike,
    out: Path | None,
    request: Request,
    at_s: float | None,
    speed: Speed | None = None,
) -> Forecast:
    """Forecast a job, with a page if a folder is given: see :func:`philly_analysis.forecast`."""
    if out is not None:
        check_path(out)
    with open_trace(trace) as source, step(f"forecast on {source.manifest.name}"):
        queue = read_queue(source)
        check_names(queue, request)
        forecaster = _fit(source, queue, at_s)
        runs = passed_runs(source, forecaster.queue)
    sizes = sorted({*_sizes(queue), request.gpus})
    if speed is None:
        by_gang, speed_text, job = run_times_by_gang(runs), "", "repeated job"
        sizes = sorted({*sizes, *by_gang["gpus"].astype(float)})
    else:
        (by_gang, speed_text), job = scaled_runs(runs, speed, request, sizes), "job"
    requests = [request, *(replace(request, gpus=gpus, servers=None) for gpus in sizes)]
    asked, *others = forecaster.ask(requests)
    by_size = dict(zip(sizes, others, strict=True))
    completion = completion_times(by_gang, by_size)
    completion_texts = (completion_sentence(completion, request.gpus, job), speed_text)
    sentence = asked.describe(f"{request}, submitted {_moment(forecaster.at_s)},")
    result = Result(
        "forecast",
        pd.DataFrame([{"gpus": gpus, **of.numbers()} for gpus, of in by_size.items()]),
        sentences=(sentence, *completion_texts, *backtest_sentences(forecaster.backtest)),
        synthetic=source.manifest.synthetic,
        question=QUESTION,
        draw=partial(_draw, asked, request, by_size),
        write_page=partial(_write, forecaster, completion, completion_texts),
    )
    forecast = Forecast(
        asked.waits,
        asked.shares,
        sentence=sentence,
        result=result,
        backtest=forecaster.backtest.table(),
        week=week_table(forecaster.queue),
        completion=completion,
    )
    if out is not None:
        forecast.save(out)
    return forecast


def pending_of(trace: TraceLike, at_s: float | None) -> Result:
    """Forecast the jobs that wait: see :func:`philly_analysis.forecast`."""
    with open_trace(trace) as source, step(f"forecast on {source.manifest.name}"):
        forecaster = _fit(source, read_queue(source), at_s)
        result = _pending(forecaster, synthetic=source.manifest.synthetic)
    tested = backtest_sentences(forecaster.backtest)
    return replace(result, sentences=(*result.sentences, *tested))


def _fit(trace: Trace, queue: Queue, at_s: float | None) -> Forecaster:
    """Test forecasts on a trace up to a moment; None: up to the end."""
    return Forecaster.fit(queue, trace.manifest.name, at_s, partial(Believed.fit, trace))


def week_of(trace: TraceLike, at_s: float | None) -> Result:
    """Tabulate waits by hour of the week: see :func:`philly_analysis.forecast`."""
    with open_trace(trace) as source:
        queue = read_queue(source)
        return _week(queue if at_s is None else queue.until(at_s), source.manifest.synthetic)


def check_names(queue: Queue, request: Request) -> None:
    """Check that the log has the names that a job is submitted with.

    Raises
    ------
    UnknownNameError
        The log has no such virtual cluster, QOS, account or user.
    """
    kinds = {"vc": "virtual cluster", "qos": "QOS", "account": "account", "user": "user"}
    for column, kind in kinds.items():
        name = getattr(request, column)
        names = set(queue.jobs[column].dropna().astype(str))
        if name is not None and name not in names:
            raise UnknownNameError(kind, name, names)


def _sizes(queue: Queue) -> list[float]:
    """Return the gang sizes with the most jobs: at most eight, ascending."""
    sizes: list[float] = queue.jobs["gpus"].value_counts().head(8).index.astype(float).to_list()
    return sorted(sizes)


def _moment(at_s: float) -> str:
    return f"{pd.Timestamp(at_s, unit='s'):%Y-%m-%d %H:%M} UTC"


def _pending(forecaster: Forecaster, *, synthetic: bool) -> Result:
    table = forecaster.waiting()
    waiting_text = (
        f"{count(len(table), 'job')} waited at {_moment(forecaster.at_s)}. The forecasts are of "
        "the remaining waits."
        if len(table)
        else f"No job waited at {_moment(forecaster.at_s)}."
    )
    question = "When will the waiting jobs start?"
    return Result(
        "pending", table, sentences=(waiting_text,), synthetic=synthetic, question=question
    )


def _week(queue: Queue, synthetic: bool) -> Result:
    table = week_table(queue)
    jobs = table.groupby("gang")["jobs"].sum()
    sentences = []
    for gang in jobs[jobs > 0].index:
        rows = table[table["gang"] == gang].sort_values(["median_s", "p90_s"])
        best, worst = rows.iloc[0], rows.iloc[-1]
        sentences.append(
            f"{gang_label(str(gang))}: shortest median wait on {best['day']} "
            f"{best['hour']:02d}:00 ({duration(best['median_s'])}), longest on {worst['day']} "
            f"{worst['hour']:02d}:00 ({duration(worst['median_s'])})."
        )
    return Result(
        "week",
        table,
        sentences=tuple(sentences),
        caveats=(
            "Hours with few jobs are shrunk to the same hours of other working days or weekend "
            "days, and to the gang class.",
        ),
        synthetic=synthetic,
        question="How long do jobs wait, by gang size and hour of the week?",
        draw=_draw_week,
    )


def _draw(
    asked: WaitDistribution,
    request: Request,
    others: dict[float, WaitDistribution],
    result: Result,
) -> Figure:
    """Draw the cumulative curves of the asked job and of the other gang sizes."""
    fig, [ax] = figures.canvas()
    colors = figures.gang_size_colors([int(gpus) for gpus in others])
    for gpus, of in others.items():
        _curve(ax, of, gang_label(f"{gpus:g}"), colors[str(int(gpus))], 1.0)
    _curve(ax, asked, f"the asked job ({request.gpus:g} GPUs)", figures.INK, 2.2)
    figures.percent_axis(ax, "probability of a start")
    figures.time_axis(ax)
    ax.set_xlabel("wait")
    figures.label_lines([ax])
    return fig


def _curve(ax: Axes, of: WaitDistribution, label: str, color: str, width: float) -> None:
    waits = np.maximum(np.array(of.waits), 1)
    ax.step(waits, 100 * np.cumsum(of.shares), where="post", label=label, color=color, lw=width)


def _draw_week(result: Result) -> Figure:
    """Draw the median wait by day and hour, one panel per gang class."""
    table = result.table
    gangs = list(dict.fromkeys(table["gang"]))
    fig, axes = figures.canvas(max(len(gangs), 1), 1, height=3.2, sharey=True)
    if not gangs:
        return figures.empty(fig, "no job has a trusted wait")
    logs = np.log10(1 + table["median_s"])
    longest = max(float(logs.max()), 1)
    for ax, gang in zip(axes, gangs, strict=True):
        rows = table["gang"] == gang
        grid = logs[rows].to_numpy().reshape(len(DAYS), -1)
        shades = ax.imshow(grid, aspect="auto", cmap="Blues", vmin=0, vmax=longest, origin="upper")
        ax.set_yticks(range(len(DAYS)), [day[:3] for day in DAYS])
        ax.set_xticks([0, 6, 12, 18])
        ax.set_xlabel("hour (UTC)")
        ax.grid(visible=False)
        figures.title(ax, gang_label(gang))
    at = [seconds for seconds in _SHADES_S if np.log10(1 + seconds) <= longest]
    scale = fig.colorbar(
        shades, ax=list(axes), label="median wait", ticks=np.log10(1 + np.array(at))
    )
    scale.ax.set_yticklabels([duration(seconds) for seconds in at], fontsize=8)
    return fig


def _by_hours(week: pd.DataFrame) -> pd.DataFrame:
    """Return the median waits as text, one row per gang class and day, some hours a column."""
    hours = week[week["hour"] % _HOURS == _HOURS // 2]
    shown = hours.assign(hour=[f"{h:02d}:00" for h in hours["hour"]])
    shown["wait"] = shown["median_s"].map(duration)
    wide = shown.set_index(["gang", "day", "hour"])["wait"].unstack("hour").reset_index()  # noqa: PD010
    order = {day: i for i, day in enumerate(DAYS)}
    gangs = {gang: i for i, gang in enumerate(dict.fromkeys(week["gang"]))}
    keys = wide["gang"].map(gangs) * len(DAYS) + wide["day"].map(order)
    return wide.iloc[keys.argsort()].reset_index(drop=True)


def _write(
    forecaster: Forecaster,
    completion: pd.DataFrame,
    completion_texts: tuple[str, ...],
    result: Result,
    folder: Path,
) -> Path:
    """Write the page: the forecast, the weekly table, the waiting jobs, and the backtest."""
    week = _week(forecaster.queue, result.synthetic)
    tested = Result(
        "backtest",
        forecaster.backtest.table(),
        sentences=backtest_sentences(forecaster.backtest),
        caveats=(
            "The last fifth of the log was never trained on. Its outcomes adjust later intervals "
            "from the moment at which they are known. A wait that ties with an end of the interval "
            "counts as the covered share of the tie (covered); inside counts it whole.",
        ),
        synthetic=result.synthetic,
    )
    pending = _pending(forecaster, synthetic=result.synthetic)
    by_hours = {"median wait by day and hour (UTC)": _by_hours(week.table)}
    chapters = [
        Chapter("By hour of the week", (section("week", week.question, week, tables=by_hours),)),
        Chapter("Waiting jobs", (section("pending", pending.question, pending),)),
        Chapter(
            "How good are the forecasts?",
            (section("backtest", "Do the intervals hold on jobs never trained on?", tested),),
        ),
    ]
    if not completion.empty:
        question = "How large should the job be?"
        sizes = Result(
            "completion",
            completion,
            sentences=completion_texts,
            synthetic=result.synthetic,
            draw=draw_completion,
        )
        chapters.insert(
            0, Chapter("Completion by gang size", (section("completion", question, sizes),))
        )
    part = section("forecast", result.question, result)
    return results_page(
        result.question, _LEDE, chapters, folder, cards=[Card("forecast", result.question, part)]
    )
