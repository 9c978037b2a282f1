"""Summarise the periods that a model predicts: jobs and GPU time, run times, submissions."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.models import model_view, summary
from philly_analysis.models.between_period import PERIOD_D
from philly_analysis.models.parts import Parts
from philly_analysis.models.predictive import jobs_and_gpu_s, next_periods
from philly_analysis.results import (
    Fact,
    Paired,
    Result,
    count,
    duration,
    figures,
    gang_label,
    number,
    whole_percent,
)
from philly_analysis.study import GANGS

DRAWS = 100
"""Periods drawn."""
_LEVELS = (0.05, 0.5, 0.95)
_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_HOURS = 24 * PERIOD_D
_FITTED = 0
"""Number of the fitted period; drawn periods count from 1."""


def month_outlook(model: Parts) -> list[Result]:
    """Return what another period of a model brings: its demand, run times and submissions.

    Parameters
    ----------
    model
        Without variation between periods, all periods are the fitted period.

    Returns
    -------
    list of Result
        ``demand``: a row per period (0: the fitted period) and gang bucket, with its jobs and GPU
        hours in 28 days. ``run_times``: quantiles. ``submissions``: mean jobs per hour, by hour of
        the week.
    """
    drawn = next_periods(model, DRAWS)
    return [_demand(model, drawn), _run_times(model, drawn), _submissions(model, drawn)]


def _demand(model: Parts, drawn: Sequence[Parts]) -> Result:
    rows: list[tuple[object, ...]] = []
    for period, period_model in enumerate([model, *drawn]):
        jobs, gpu_s = (part.sum(axis=1) for part in jobs_and_gpu_s(period_model))
        scale = period_model.arrivals.rate * _HOURS / jobs.sum()
        rows += zip([period] * len(GANGS), GANGS, jobs * scale, gpu_s * scale / 3600, strict=True)
    table = pd.DataFrame(rows, columns=["period", "gang", "jobs", "gpu_h"])
    total = table.groupby("period")[["jobs", "gpu_h"]].sum()
    facts = [
        Fact("fitted_jobs", total["jobs"][_FITTED], "jobs in 28 days, as fitted"),
        Fact("fitted_gpu_h", total["gpu_h"][_FITTED], "GPU hours in 28 days, as fitted"),
    ]
    fitted = f"{_rounded(facts[0].value)} jobs and {_rounded(facts[1].value)} GPU hours"
    if drawn:
        ends = total[1:].quantile([_LEVELS[0], _LEVELS[-1]])
        for name, what in (("jobs", "jobs"), ("gpu_h", "GPU hours")):
            for end, value, of in zip(("low", "high"), ends[name], ("5th", "95th"), strict=True):
                meaning = f"{what} in 28 days, {of} percentile of drawn months"
                facts.append(Fact(f"{end}_{name}", value, meaning))
        low, high = (_rounded(value) for value in ends["jobs"])
        sentences = [
            f"Another month brings {low} to {high} jobs (nine of ten months).",
            f"They need {' to '.join(map(_rounded, ends['gpu_h']))} GPU hours"
            f"{_of_cluster(model, ends['gpu_h'])}.",
            f"The fitted jobs are {fitted} in 28 days.",
            *([f"{model.site.sentence.capitalize()}."] if model.site else []),
        ]
    else:
        sentences = [f"Another month brings {fitted}, as the fitted one."]
    return Result(
        "demand",
        table,
        facts,
        sentences,
        question="How many jobs does another month bring?",
        draw=_plot_demand,
    )


def _rounded(value: object) -> str:
    """Return a number with two significant digits, or a whole one."""
    return f"{float(f'{value:.2g}'):,.0f}"


def _of_cluster(model: Parts, ends: "pd.Series[float]") -> str:
    """Return the share of the cluster's GPU time as text; empty: GPUs are not known."""
    gpus = model.cluster_gpus
    if not gpus:
        return ""
    low, high = (whole_percent(end / (gpus * _HOURS)) for end in ends)
    share = high if low == high else f"{low.removesuffix(' %')} to {high}"
    return f", {share} of the time of the cluster's {count(gpus, 'GPU')}"


def _plot_demand(result: Result) -> Figure:
    """Draw jobs and GPU hours of drawn periods against the fitted period, by gang bucket."""
    if not result.table["period"].any():
        return figures.empty(figures.canvas()[0], "no variation between months")
    panels = []
    for name, heading in (("jobs", "Jobs"), ("gpu_h", "GPU hours")):
        wide = result.table.pivot_table(index="period", columns="gang", values=name, sort=False)
        columns = {"all jobs": wide.sum(axis=1)}
        columns |= {gang_label(str(gang)): values for gang, values in wide.items()}
        rows = []
        for label, values in columns.items():
            if (fitted := float(values[_FITTED])) > 0:
                low, middle, high = np.quantile(100 * (values[1:] / fitted - 1), _LEVELS)
                change = Paired(float(middle), float(low), float(high), DRAWS)
                rows.append((label, change, figures.ACCENT))
        panels.append(figures.Panel(heading, rows))
    return figures.forest_panels(panels, "nine of ten months against the fitted one, %")


def _run_times(model: Parts, drawn: Sequence[Parts]) -> Result:
    table = summary.summary(model)
    median, tenth = (float(model.duration().ppf(q)) for q in (0.5, 0.9))
    gangs = model.gang_size.overall
    single = float(sum(s for g, s in zip(gangs.sizes, gangs.shares, strict=True) if g <= 1))
    return Result(
        "run_times",
        table[table["part"] == "run time"].reset_index(drop=True),
        [
            Fact("median_run_s", median, "median run time"),
            Fact("p90_run_s", tenth, "90th percentile of run times"),
            Fact("single_gpu_frac", single, "share of jobs on one GPU"),
        ],
        [
            f"Half of its jobs run for less than {duration(median)}, one in ten for more than "
            f"{duration(tenth)}.",
            f"{whole_percent(single)} of the jobs use one GPU. The largest gang has "
            f"{count(max(gangs.sizes), 'GPU')}.",
        ],
        question="How long do its jobs run?",
        draw=lambda _: model_view.plot_run_times(model, drawn),
    )


def _submissions(model: Parts, drawn: Sequence[Parts]) -> Result:
    rate = np.asarray(model.arrivals.rate_per_h, float)
    by_day, by_hour = (rate.reshape(7, 24).sum(axis=axis) for axis in (1, 0))
    most, least = int(by_day.argmax()), int(by_day.argmin())
    dispersion = number(float(model.arrivals.dispersion))
    variable = f"Hourly numbers vary {dispersion} times as much as independent submissions."
    if dispersion == "1.00":
        variable = "Submissions are independent of each other."
    sentences = [
        f"Most jobs are submitted on {_DAYS[most]}: {_rounded(by_day[most])} per day, against "
        f"{_rounded(by_day[least])} on {_DAYS[least]}.",
        f"The busiest hour of the day begins at {by_hour.argmax():02d}:00 UTC. {variable}",
    ]
    if not np.ptp(rate):
        sentences = [f"{number(rate[0])} jobs are submitted per hour, on every day.", variable]
    return Result(
        "submissions",
        pd.DataFrame({"hour_of_week": np.arange(len(rate)), "jobs_per_h": rate}),
        [
            Fact("jobs_per_h", float(model.arrivals.rate), "mean submissions per hour"),
            Fact(
                "dispersion",
                float(model.arrivals.dispersion),
                "variance over mean of hourly submissions",
            ),
        ],
        sentences,
        question="When are they submitted?",
        draw=lambda _: model_view.plot_rhythm(model, drawn),
    )
