"""Check properties of every finding on every valid trace, including the empty one."""

from collections.abc import Set
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import polars as pl
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from philly_analysis import analyze
from philly_analysis.report.findings import ANALYSES
from philly_analysis.results import Result, figures
from philly_analysis.trace.relations import relations
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import Trace
from tests.support.clusters import ODD, write_tables
from tests.support.strategies import one_in, tables

Tables = dict[str, pl.DataFrame]

NOT_OF_JOBS = {"gang_failures", "other_months", "philly_like", "reliability"}
"""Findings whose tables have rows without jobs: sizes of gangs, and figures of shipped models."""

EMPTY = {name: pl.DataFrame(table.arrow.empty_table()) for name, table in TABLES.items()}


def answers(given_tables: Tables, folder: str) -> dict[str, Result]:
    """Write a trace, and ask everything that it has the tables for."""
    return analyze(write_tables(Path(folder) / "trace", given_tables, "philly"))


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_every_finding_answers_and_draws_odd_traces(odd: str) -> None:
    # without samples the share of GPUs that jobs hold is told, of no hours
    check_answers(ODD[odd], 0, NOT_OF_JOBS | {"how_used"})


# A try asks every question twice and draws it, which takes seconds: few of them, no shrinking.
@pytest.mark.slow
@settings(one_in(12), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(any_tables=tables(), seed=st.integers(0, 99))
@example(any_tables=EMPTY, seed=0)
def test_every_finding_answers_draws_and_ignores_the_order_of_rows(
    any_tables: Tables, seed: int
) -> None:
    check_answers(any_tables, seed)


def check_answers(any_tables: Tables, seed: int, not_of_jobs: Set[str] = NOT_OF_JOBS) -> None:
    shuffled = {
        name: rows.sample(fraction=1, shuffle=True, seed=seed) for name, rows in any_tables.items()
    }
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        results = answers(any_tables, one)
        reordered = results
        if not (empty := not any(map(len, any_tables.values()))):
            reordered = answers(shuffled, other)
            with Trace(Path(one) / "trace") as trace:
                for name in filter(trace.has, relations()):
                    trace.answer(name).fetchall()
    assert results.keys() == reordered.keys()
    for name, result in results.items():
        assert result.name == name
        assert result.table.columns.is_unique
        assert not empty or result.table.empty or name in not_of_jobs
        assert len({fact.name for fact in result.facts}) == len(result.facts)
        assert all(isinstance(f.value, int | float | str | None) for f in result.facts)
        for text in (*result.sentences, *result.caveats):
            assert text.endswith((".", "?")) and "nan" not in text.lower().split(), text
        figure = ANALYSES[name].plot(result)
        assert empty or "<svg" in figures.svg(figure), name
        pd.testing.assert_frame_equal(
            result.table, reordered[name].table, rtol=1e-9, obj=f"table of {name}"
        )
        for mine, theirs in zip(result.facts, reordered[name].facts, strict=True):
            number = isinstance(theirs.value, int | float)
            assert mine.name == theirs.name
            assert mine.value == (
                pytest.approx(theirs.value, rel=1e-9, abs=1e-12) if number else theirs.value
            ), f"{name}: {mine.name}"
