"""Read facts of results as numbers, and their verdicts."""

from philly_analysis.results import Result
from philly_analysis.results.verdict import Verdict


def number(result: Result, fact: str) -> float:
    """Return the value of a numeric fact."""
    value = result.fact(fact)
    assert isinstance(value, int | float), f"{fact} is {value!r}"
    return value


def verdict(result: Result) -> Verdict:
    """Verdict of a result, which has one."""
    assert result.verdict is not None
    return result.verdict
