"""Read facts of results as numbers."""

from philly_analysis.results.result import Result


def number(result: Result, fact: str) -> float:
    """Return the value of a numeric fact."""
    value = result.fact(fact)
    assert isinstance(value, int | float), f"{fact} is {value!r}"
    return value
