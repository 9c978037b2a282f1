"""Word and draw advice: sentences, tables, the settings of Slurm, and figures."""

import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from math import floor, log10
from pathlib import Path
from shlex import quote

import pandas as pd

from philly_analysis.experiments.advice.advice import Advice
from philly_analysis.experiments.advice.baseline import Baseline
from philly_analysis.experiments.advice.charts import frontier, queue_figure
from philly_analysis.experiments.advice.gains import Monthly
from philly_analysis.experiments.advice.lever import Assumptions
from philly_analysis.experiments.advice.pricing import Priced, clear, sure
from philly_analysis.experiments.job_sources import quotas_by_use
from philly_analysis.results import (
    NOT_KNOWN,
    Fact,
    Result,
    Verdict,
    count,
    whole_percent,
)

QUESTION = "What should this cluster change?"

DOCS = "https://slurm.schedmd.com/"
"""Slurm's documentation, which the links of settings are relative to."""

_LONGEST_WINDOW_MIN = 43_200
"""Greatest bf_window that Slurm accepts."""

_SETTINGS = tomllib.loads(Path(__file__).with_name("slurm.toml").read_text("utf-8"))

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
    for each in priced:
        gain, wait = each.gain, each.gain.wait_h or Monthly(*[float("nan")] * 3)
        beaten = any(
            o.gain.value_h.mean >= gain.value_h.mean
            and o.gain.later_jobs <= gain.later_jobs
            and (o.gain.value_h.mean, -o.gain.later_jobs) != (gain.value_h.mean, -gain.later_jobs)
            for o in priced
        )
        rows.append(
            (
                *(each.title, *gain.gpu_h, 100 * gain.gpu_h.mean / advice.gpu_h),
                *(*wait, wait.mean * waited),
                *(*gain.value_h, gain.jobs, gain.users, gain.later_jobs, gain.later_users),
                *(not beaten, each.moved),
            )
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def parts(advice: Advice, priced: Priced) -> list[str]:
    """Return the gain of a lever as phrases with numbers and nouns: hours, then jobs."""
    gain, phrases = priced.gain, list[str]()
    single = not priced.moved and "+" not in priced.name  # others have no drawn months
    if gain.gpu_h.mean:
        cost = "" if gain.gpu_h.mean > 0 else "costs "
        phrases.append(
            cost
            + _amount(gain.gpu_h, gain.gpu_p, "GPU hours a month", advice.gpu_h, "of all", single)
        )
    if gain.wait_h is not None and advice.wait_h:
        less = "less" if gain.wait_h.mean >= 0 else "more"
        what = f"hours {less} waiting a month"
        phrase = _amount(gain.wait_h, gain.wait_p, what, advice.wait_h, "of the waiting", single)
        first = sure(gain.wait_h, gain.wait_p) and not sure(gain.gpu_h, gain.gpu_p)
        phrases.insert(0 if first else len(phrases), phrase)
    if gain.jobs:
        phrases.append(f"changes {count(gain.jobs, 'job')} of {count(gain.users, 'user')}")
    if gain.later_jobs:
        jobs, users = count(gain.later_jobs, "job"), count(gain.later_users, "user")
        phrases.append(f"{jobs} of {users} complete later or lose work")
    elif gain.wait_h is not None:
        phrases.append("no job completes later")
    return phrases


def recommendation(advice: Advice) -> str:
    """Return how many levers apply and are recommended, and why."""
    if not advice.levers:
        return "No lever can be applied here."
    applied = f"{count(len(advice.levers), 'lever')} can be applied here."
    match len(advice.best):
        case 0:
            return f"{applied} None is recommended: it would need a clear gain without a purchase."
        case 1:
            return f"{applied} One is recommended: it needs no purchase, and its gain is clear."
        case n:
            return f"{applied} {n} are recommended: they need no purchase, and their gain is clear."


def headline(advice: Advice, priced: Priced) -> str:
    """Return the gain of a lever as one sentence."""
    return f"{priced.title}: {'; '.join(parts(advice, priced))}."


def _amount(gain: Monthly, p_value: float, noun: str, total: float, of: str, interval: bool) -> str:
    """Return the size of a gain with its share of a total, and the interval of months."""
    mean, low, high = gain if gain.mean >= 0 else (-gain.mean, -gain.high, -gain.low)
    if interval and low <= 0 and not sure(gain, p_value):
        return f"{noun}: not clear (nine of ten months: {_rounded(low)} to {_rounded(high)})"
    size = f"{_rounded(mean)} {noun}, {whole_percent(mean / total)} {of}"
    return f"{size} (nine of ten months: {_rounded(low)} to {_rounded(high)})" if interval else size


def _rounded(hours: float) -> str:
    """Return hours with two significant digits, or whole ones."""
    digits = min(1 - floor(log10(abs(hours))), 0) if abs(hours) >= 1 else 0
    return f"{round(hours, digits):,.0f}".replace("-", "\N{MINUS SIGN}")


def brief(advice: Advice, priced: Sequence[Priced]) -> pd.DataFrame:
    """Return levers as rows of text: lever, assumption, GPU hours, waiting, who loses."""
    rows = [
        (
            each.title,
            each.moved,
            _rounded(each.gain.gpu_h.mean),
            NOT_KNOWN if each.gain.wait_h is None else _rounded(each.gain.wait_h.mean),
            f"{each.gain.later_jobs:,} of {each.gain.later_users:,}",
        )
        for each in priced
    ]
    heads = ["lever", "assumption", "GPU hours a month", "hours less waiting", "later: jobs, users"]
    table = pd.DataFrame(rows, columns=heads)
    return table if any(table["assumption"]) else table.drop(columns="assumption")


def without_clear_gain(advice: Advice) -> pd.DataFrame:
    """Return levers that are not recommended, as rows of text: lever, gain, why."""
    rows = []
    for each in advice.levers:
        if rival := advice.disputed.get(each.name):
            why = f"the log also fits {rival}, which does not have this lever"
        elif each.gain.value_h.mean <= 0:
            why = "costs more than it gains"
        elif not clear(each):
            why = "not above 0 in significantly many parts of the log"
        else:
            continue
        rows.append((each.title, *map(_spread, (each.gain.gpu_h, each.gain.wait_h)), why))
    heads = ["lever", "GPU hours a month", "hours less waiting a month", "why"]
    return pd.DataFrame(rows, columns=heads)


def _spread(gain: Monthly | None) -> str:
    """Return a gain with its interval."""
    if gain is None:
        return NOT_KNOWN
    mean, low, high = map(_rounded, gain)
    return f"{mean} ({low} to {high})" if low != high else mean


def settings(advice: Advice, priced: Priced, assumed: Assumptions) -> pd.DataFrame:
    """Return what to type in Slurm for a lever: where, type, page of documentation, its link."""
    now = advice.scenario
    gpus, *others = [machine.gpus for machine in now.server_types()]
    longest_s = max(spec.time_limit_s or spec.run_s for spec in now.jobs)
    filled = {
        **{name: f"{value:g}" for name, value in asdict(assumed).items()},
        "shards": 2 * gpus,
        "gpus": gpus,
        "other_gpus": others[0] if others else gpus,
        "idle_min": f"{60 * assumed.idle_h:g}",
        "worst": quote(",".join(advice.worst_servers) or "NAME"),
        "window_min": min(-(-int(longest_s) // 60), _LONGEST_WINDOW_MIN),
    }
    rows = []
    for row in _SETTINGS[priced.name]:
        of_vc = quotas_by_use(now.jobs, now.gpus) if "{vc}" in row["type"] else {"": 0}
        for vc, quota in sorted(of_vc.items()):
            text = row["type"].format_map({**filled, "vc": quote(vc), "quota": quota})
            page = row["page"].format_map({**filled, "quota": quota})
            rows.append((row["where"], text.strip(), page, DOCS + row["link"]))
    return pd.DataFrame(rows, columns=["where", "type", "documentation", "link"])


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
    for nth, priced in enumerate(best, 1):
        facts.append(Fact(f"best_{nth}", priced.name, "lever by gain"))
        facts.append(Fact(f"best_{nth}_gpu_h", priced.gain.gpu_h.mean, "GPU hours a month"))
    fitted = advice.baseline.sentence if advice.baseline is not None else ""
    withheld = " Advice on scheduling is withheld." if advice.withheld else ""
    sentences = [headline(advice, each) for each in best] or [recommendation(advice) + withheld]
    sentences += [f"Together: {headline(advice, each)}" for each in advice.combined[-1:]]
    verdict = None
    if best:
        gain = best[0].gain
        freed = sure(gain.gpu_h, gain.gpu_p) or gain.wait_h is None
        value = gain.gpu_h if freed or gain.wait_h is None else gain.wait_h
        verdict = Verdict(
            best[0].title,
            f"{_rounded(value.mean)} {'GPU hours' if freed else 'hours'}",
            "a month" if freed else "less waiting a month",
            f"nine of ten months: {_rounded(value.low)} to {_rounded(value.high)}",
        )
    return Result(
        "advice",
        table_of(advice, advice.levers),
        facts,
        sentences,
        caveats=tuple(dict.fromkeys((advice.withheld, fitted))),
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
        [baseline.sentence],
        synthetic=synthetic,
        question="Does a replay reproduce the recorded waits?",
        draw=lambda _: queue_figure(baseline),
    )
