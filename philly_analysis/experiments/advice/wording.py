"""Word and draw advice: sentences, tables, the settings of Slurm, and figures."""

from collections.abc import Sequence
from math import floor, log10

import pandas as pd

from philly_analysis.experiments.advice.advice import Advice
from philly_analysis.experiments.advice.baseline import Baseline
from philly_analysis.experiments.advice.charts import frontier, queue_figure
from philly_analysis.experiments.advice.gains import Monthly
from philly_analysis.experiments.advice.judging import clear
from philly_analysis.experiments.advice.lever import VALUES
from philly_analysis.experiments.advice.pricing import Priced
from philly_analysis.experiments.advice.typed import limits_sentences
from philly_analysis.results import (
    NOT_KNOWN,
    Fact,
    Result,
    Verdict,
    count,
    duration,
    whole_percent,
)

QUESTION = "What should this cluster change?"

COLUMNS = (
    *("lever", "gpu_h", "gpu_h_low", "gpu_h_high", "gpu_pct"),
    *("wait_h", "wait_h_low", "wait_h_high", "wait_pct"),
    *("value_h", "value_h_low", "value_h_high", "jobs", "users", "later_jobs", "later_users"),
    *("frontier", "assumed"),
)
"""Columns of the table of levers."""


def table_of(advice: Advice, priced: Sequence[Priced]) -> pd.DataFrame:
    """Return levers as rows of :data:`COLUMNS`; gains are a month, low and high of 9 in 10 months.

    ``frontier`` is true where no other lever gains more and lets fewer jobs complete later.
    """
    rows = []
    waited = 100 / advice.wait_h if advice.wait_h else float("nan")
    for lever in priced:
        gain, wait = lever.gain, lever.gain.wait_h or Monthly(*[float("nan")] * 3)
        beaten = any(
            o.gain.value_h.mean >= gain.value_h.mean
            and o.gain.later_jobs <= gain.later_jobs
            and (o.gain.value_h.mean, -o.gain.later_jobs) != (gain.value_h.mean, -gain.later_jobs)
            for o in priced
        )
        rows.append(
            (
                *(lever.title, *gain.gpu_h, 100 * gain.gpu_h.mean / advice.gpu_h),
                *(*wait, wait.mean * waited),
                *(*gain.value_h, gain.jobs, gain.users, gain.later_jobs, gain.later_users),
                *(not beaten, lever.moved),
            )
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


_NOUNS = {
    "total": "GPU hours a month freed or waited less",
    "freed": "GPU hours a month freed",
    "waiting": "GPU hours a month waited less",
}
"""Noun of a gain, by the measure of the gain."""


def noun(advice: Advice, priced: Priced) -> str:
    """Return what a gain consists of: the measure, or the only part that is not 0."""
    gain = priced.gain
    if advice.value == "total" and not gain.gpu_h.mean:
        return _NOUNS["waiting"]
    if advice.value == "total" and (advice.nobody_waits or not gain.saved_s):
        return _NOUNS["freed"]
    return _NOUNS[advice.value]


def parts(advice: Advice, priced: Priced) -> list[str]:
    """Return the gain of a lever as phrases: the measure, its parts, and the changed jobs."""
    gain = priced.gain
    single = not priced.moved and "+" not in priced.name  # others have no drawn months
    cost = gain.value_h.mean < 0
    mean, low, high = _negative(gain.value_h) if cost else gain.value_h
    kind = "costs " if cost else "" if clear(gain) or not single else "likely "
    interval = f" (nine of ten months: {_rounded(low)} to {_rounded(high)})" if single else ""
    what = "GPU hours a month" if cost else noun(advice, priced)
    phrases = [f"{kind}{_rounded(mean)} {what}{interval}"]
    if gain.gpu_h.mean:
        change = "freed" if gain.gpu_h.mean > 0 else "added"
        pct = whole_percent(abs(gain.gpu_h.mean) / advice.gpu_h)
        phrase = f"{pct} of all GPU hours"
        if what != _NOUNS["freed"]:
            phrase = f"{_rounded(abs(gain.gpu_h.mean))} GPU hours a month {change}: {phrase}"
        phrases.append(phrase)
    if not gain.by_gang.empty and not advice.nobody_waits:
        before, after = (duration(gain.mean_wait_s(when)) for when in ("before", "after"))
        phrases.append(f"the mean wait changes from {before} to {after}")
    if gain.jobs:
        phrases.append(f"changes {count(gain.jobs, 'job')} of {count(gain.users, 'user')}")
    if gain.later_jobs:
        jobs, users = count(gain.later_jobs, "job"), count(gain.later_users, "user")
        phrases.append(f"{jobs} of {users} complete later or lose work")
    elif not gain.by_gang.empty:
        phrases.append("no job completes later")
    return phrases


def _negative(gain: Monthly) -> Monthly:
    return Monthly(-gain.mean, -gain.high, -gain.low)


def recommendation(advice: Advice) -> str:
    """Return how many levers apply and are recommended, and why."""
    if not advice.levers:
        return "No lever can be applied here."
    applied = f"{count(len(advice.levers), 'lever')} can be applied here."
    waits = ""
    if advice.mean_wait_s is not None and advice.nobody_waits:
        waits = (
            f" The mean wait is {duration(advice.mean_wait_s)}: no lever can shorten it by much."
        )
    match len(advice.best):
        case 0:
            return f"{applied} None is recommended: the table has the reason for each.{waits}"
        case 1:
            return f"{applied} One is recommended: no objection holds against it.{waits}"
        case n:
            return f"{applied} {n} are recommended: no objection holds against them.{waits}"


def headline(advice: Advice, priced: Priced) -> str:
    """Return the gain of a lever as one sentence."""
    return f"{priced.title}: {'; '.join(parts(advice, priced))}."


def _rounded(hours: float) -> str:
    """Return hours with two significant digits, or whole ones."""
    digits = min(1 - floor(log10(abs(hours))), 0) if abs(hours) >= 1 else 0
    return f"{round(hours, digits):,.0f}".replace("-", "\N{MINUS SIGN}")


def brief(advice: Advice, priced: Sequence[Priced]) -> pd.DataFrame:
    """Return levers as rows of text: lever, assumption, gain, GPU hours, who loses."""
    rows = [
        (
            lever.title,
            lever.moved,
            _rounded(lever.gain.value_h.mean),
            _rounded(lever.gain.gpu_h.mean),
            f"{lever.gain.later_jobs:,} of {lever.gain.later_users:,}",
        )
        for lever in priced
    ]
    measure = _NOUNS[advice.value]
    heads = ["lever", "assumption", measure, "GPU hours freed", "later: jobs, users"]
    table = pd.DataFrame(rows, columns=heads)
    return table if any(table["assumption"]) else table.drop(columns="assumption")


def without_card(advice: Advice) -> pd.DataFrame:
    """Return levers without a card, as rows of text: lever, gain, why."""
    cards = {lever.name for lever in advice.best}
    rows = [
        (
            lever.title,
            _spread(lever.gain.value_h),
            advice.objections.get(lever.name) or "three other levers gain more",
        )
        for lever in advice.levers
        if lever.name not in cards and lever.title not in advice.failed
    ]
    rows += [
        (title, NOT_KNOWN, f"could not be priced: {why}") for title, why in advice.failed.items()
    ]
    return pd.DataFrame(rows, columns=["lever", _NOUNS[advice.value], "why"])


def _spread(gain: Monthly) -> str:
    """Return a gain with its interval."""
    mean, low, high = map(_rounded, gain)
    return f"{mean} ({low} to {high})" if low != high else mean


def result_of(advice: Advice, *, synthetic: bool) -> Result:
    """Return the table of levers with its sentences, facts and figure."""
    best = advice.best
    facts = [
        Fact("gpu_h", advice.gpu_h, "GPU hours that jobs run, a month"),
        Fact("wait_h", advice.wait_h, "hours that jobs wait, a month"),
        Fact("levers", len(advice.levers), "levers that apply to this cluster"),
    ]
    if advice.baseline is not None:
        total = advice.baseline.distance.total
        facts.append(Fact("distance", total, "distance of the replay from the recorded waits"))
        for nth, half in enumerate(advice.baseline.halves, 1):
            of = f"half {nth} of the log"
            facts += [
                Fact(f"recorded_wait_{nth}_s", half.recorded_s, f"recorded mean wait, {of}"),
                Fact(f"replayed_wait_{nth}_s", half.replayed_s, f"replayed mean wait, {of}"),
                Fact(f"ks_{nth}", half.ks, f"distance of the distributions of waits, {of}"),
            ]
    for nth, priced in enumerate(best, 1):
        facts.append(Fact(f"best_{nth}", priced.name, "lever by gain"))
        facts.append(Fact(f"best_{nth}_value_h", priced.gain.value_h.mean, VALUES[advice.value]))
    fitted = advice.baseline.sentence if advice.baseline is not None else ""
    withheld = " Advice on scheduling is withheld." if advice.withheld else ""
    sentences = [headline(advice, lever) for lever in best] or [recommendation(advice) + withheld]
    sentences += [f"Together: {headline(advice, lever)}" for lever in advice.combined[-1:]]
    if not advice.limits.empty:
        sentences.append(" ".join(limits_sentences(advice.limits, len(advice.scenario.pools))))
    verdict = None
    if best:
        value = best[0].gain.value_h
        verdict = Verdict(
            best[0].title,
            f"{_rounded(value.mean)} GPU hours",
            noun(advice, best[0]).removeprefix("GPU hours "),
            f"nine of ten months: {_rounded(value.low)} to {_rounded(value.high)}",
        )
    return Result(
        "advice",
        table_of(advice, advice.levers),
        facts,
        sentences,
        caveats=(advice.withheld, "" if fitted in advice.withheld else fitted),
        synthetic=synthetic,
        question=QUESTION,
        verdict=verdict,
        draw=frontier,
    )


def baseline_result(baseline: Baseline, *, synthetic: bool) -> Result:
    """Return the candidates that were replayed, and the queue over time."""
    distance = baseline.distance
    return Result(
        "baseline",
        baseline.tried,
        [Fact(part, getattr(distance, part), "part of the distance") for part in distance._fields],
        baseline.sentences,
        synthetic=synthetic,
        question="Does a replay reproduce the recorded waits?",
        draw=lambda _: queue_figure(baseline),
    )
