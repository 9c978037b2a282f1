"""Facts of results as numbers, for tests that count with them."""

from philly_analysis.results.result import Result


def number(result: Result, fact: str) -> float:
    """Return a fact that must be a number."""
    value = result.fact(fact)
    assert isinstance(value, int | float), f"{fact} is {value!r}"
    return value
