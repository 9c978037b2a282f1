"""Advise a cluster, and write the page: three cards, the frontier, the evidence, what to type."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from philly_analysis import experiments
from philly_analysis.experiments import Advice, Assumptions, Priced
from philly_analysis.parallel import ExecutorLike, open_executor
from philly_analysis.progress import step
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Card, Chapter, Section, section
from philly_analysis.results import NOT_KNOWN, Result, check_path
from philly_analysis.trace import TraceLike, open_trace

advice = experiments.advice

_TYPED = 4
"""Settings on a card; the table at the end has all."""

_OPTION = re.compile(r"(--\S+)")

_LEDE = (
    "Each lever is applied to the recorded jobs, alone, and compared with the same jobs without "
    "the lever. The measure of a gain is: {measure}, per month of 30 days. An hour of waiting "
    "counts once for each GPU of the job. The measure orders the levers, is tested, and has the "
    "interval, which contains nine of ten further months. A gain is likely if its interval "
    "contains 0. Three levers at most have a card. A lever without a card needs a purchase, gains "
    "too little, or harms a gang size. Too little is less than 1 % of the GPU hours and two "
    "minutes of waiting a job. A gain in too few of the log's twelve parts is also too little "
    "(Wilcoxon signed-rank test, p ≥ 0.05). Harm is a mean or 90th percentile of the wait that "
    "rises by more than a quarter and two minutes, over the log and the drawn months together, or "
    "in a fifth of these months."
)


def advice_page(
    trace: TraceLike,
    out: Path | None,
    *,
    assumed: Assumptions,
    months: int,
    executor: ExecutorLike,
) -> Result:
    """Advise a cluster, with a page if a folder is given: see :func:`philly_analysis.advise`."""
    if out is not None:
        check_path(out)
    with (
        open_trace(trace) as source,
        open_executor(executor) as workers,
        step(f"advice on {source.manifest.name}"),
    ):
        advised = advice.advise(source, workers, assumed, months)
        synthetic = source.manifest.synthetic
    result = advice.result_of(advised, synthetic=synthetic)
    result = replace(result, write_page=partial(_write, advised, assumed))
    if out is not None:
        result.save(out)
    return result


def _write(advised: Advice, assumed: Assumptions, result: Result, folder: Path) -> Path:
    every = replace(result, sentences=(advice.recommendation(advised),))
    tables = {
        "the best levers together": advice.brief(advised, advised.combined),
        "the best levers under other assumptions": advice.brief(advised, advised.moved),
    }
    folded = {"No card": advice.without_card(advised)}
    question = "What would each lever change?"
    levers = section("levers", question, every, tables=tables, folded=folded)
    chapters = [Chapter("All levers", (levers,))]
    cards = [_card(advised, priced, assumed, result) for priced in advised.best]
    if not advised.limits.empty:
        limits = _limits(advised, result)
        cards = [Card("limits", "Raise the limit that binds", limits), *cards]
    if advised.baseline is not None:
        fitted = advice.baseline_result(advised.baseline, synthetic=result.synthetic)
        part = section("baseline", fitted.question, fitted)
        chapters.append(Chapter("How near is the replay?", (part,)))
    typed = [advice.settings(advised, p, assumed).assign(lever=p.title) for p in advised.best]
    return results_page(
        result.question,
        _LEDE.format(measure=advice.VALUES[advised.value]),
        chapters,
        folder,
        cards=cards or [Card("none", result.question, section("none", result.question, result))],
        closing=_linked(pd.concat(typed, ignore_index=True)) if typed else None,
        closing_title="What to type in Slurm",
    )


def _limits(advised: Advice, result: Result) -> Section:
    """Return the section of the limits that keep jobs waiting."""
    limits = advice.binding_limits(advised.limits)
    typed = limits["to raise it"].drop_duplicates()[:_TYPED]
    result = Result(
        "limits",
        limits,
        sentences=(
            *advice.limits_sentences(advised.limits, len(advised.scenario.pools)),
            *(Markup("In a shell: {}").format(_code(text)) for text in typed if text != NOT_KNOWN),
        ),
        synthetic=result.synthetic,
    )
    return section("limits", "Which limits bind?", result)


def _linked(typed: pd.DataFrame) -> pd.DataFrame:
    """Return settings with links to their documentation."""
    anchor = Markup('<a href="{}">{}</a>')
    links = [
        anchor.format(link, page)
        for link, page in zip(typed["link"], typed["documentation"], strict=True)
    ]
    documentation = pd.Series(links, typed.index, dtype=object)  # text alone would be escaped
    texts = pd.Series(map(_code, typed["type"]), typed.index, dtype=object)
    return typed[["lever", "where"]].assign(type=texts, documentation=documentation)


def _code(text: str) -> Markup:
    """Return what to type as code, in which no line ends within an option."""
    option = Markup('<span class="option">{}</span>')
    parts = (option.format(part) if at % 2 else part for at, part in enumerate(_OPTION.split(text)))
    return Markup("<code>{}</code>").format(Markup("").join(parts))


def _card(advised: Advice, priced: Priced, assumed: Assumptions, result: Result) -> Card:
    """Return the card of a lever: its gain, what to type, the waits, and what is assumed."""
    typed = advice.settings(advised, priced, assumed)
    first, *others = advice.parts(advised, priced)
    rows = zip(typed["where"][:_TYPED], typed["type"], strict=False)
    lever = Result(
        f"lever_{priced.name}",
        priced.gain.by_gang,
        sentences=(
            _sentence(first),
            _sentence("; ".join(others)),
            *(Markup("In {}: {}").format(where, _code(text)) for where, text in rows),
        ),
        caveats=(
            priced.assumes,
            *(
                f"With {p.moved}: {'; '.join(advice.parts(advised, p))}."
                for p in advised.moved
                if p.name == priced.name
            ),
        ),
        synthetic=result.synthetic,
        draw=advice.waits_figure,
    )
    return Card(lever.name, priced.title, section(lever.name, priced.title, lever))


def _sentence(phrase: str) -> str:
    return f"{phrase[0].upper()}{phrase[1:]}." if phrase else ""
