"""Choose the cards at the top of a trace's page: the questions that its log answers."""

from collections.abc import Iterable, Mapping

from philly_analysis.report.findings import ANALYSES
from philly_analysis.report.sections import Card, Gap, Section
from philly_analysis.results import Result

MOST_CARDS = 3
"""Number of cards on the first screen."""
QUESTIONS = {
    "why_waits": (
        "delay_causes",
        "wait_states",
        "stated_causes",
        "borrowing",
        "queueing_delay",
        "out_of_order",
    ),
    "how_used": ("gpu_util", "gpu_util_summaries", "occupancy", "usage"),
    "why_failures": ("failure_reasons", "failure_statuses", "failure_costs", "job_status"),
    "run_time": ("run_time_by_group", "job_status", "time_asked"),
    "concentration": ("usage", "job_status"),
    "arrivals": ("overview", "waits_by_day"),
}
"""Questions in the order in which they get a card, with the findings that give details."""
_ALWAYS_ASKED = ("why_waits", "how_used", "why_failures")
"""Questions whose lack of an answer is said at the top of the page."""
_MEANINGS = {
    "gpu_samples": "GPU utilisation over time (gpu_samples)",
    "summaries": "utilisation per attempt (summaries)",
    "placements": "the GPUs of each attempt (placements)",
}
"""Meaning of tables that a log may lack."""


def is_answered(result: Result | None) -> bool:
    """Return whether a finding has an answer in words, other than what to collect."""
    return result is not None and result.verdict is not None and result.verdict.is_known


def answered(results: Mapping[str, Result]) -> list[str]:
    """Return the names of the findings that get a card, in order."""
    return [name for name in QUESTIONS if is_answered(results.get(name))][:MOST_CARDS]


def cards(sections: Mapping[str, Section]) -> list[Card]:
    """Return the cards of a page."""
    return [
        Card(
            name,
            ANALYSES[name].question,
            sections[name],
            sections[name].result.verdict,
            tuple(n for n in QUESTIONS[name] if n in sections),
        )
        for name in answered({name: section.result for name, section in sections.items()})
    ]


def unanswered(results: Mapping[str, Result], gaps: Iterable[Gap]) -> list[tuple[str, str]]:
    """Return the main questions that the log does not answer, each with what to collect."""
    missing_of = {gap.question: gap.missing for gap in gaps}
    questions = []
    for name in _ALWAYS_ASKED:
        question, result = ANALYSES[name].question, results.get(name)
        if result is not None and result.verdict is not None and not result.verdict.is_known:
            questions.append((question, result.verdict.advice))
        elif question in missing_of:
            tables = "; and ".join(
                ", or ".join(_MEANINGS.get(table, table) for table in need.split(" or "))
                for need in missing_of[question]
            )
            questions.append((question, f"Collect {tables}."))
    return questions
