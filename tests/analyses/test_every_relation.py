"""Compare each relation with a reference in plain Python, on a random trace full of flaws."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from philly_analysis.trace.relations import relations
from philly_analysis.trace.trace import Trace
from tests.analyses import plain_findings, plain_relations
from tests.analyses.clusters import write_tables
from tests.analyses.plain import Rows
from tests.analyses.rich_trace import rich_tables

REFERENCES = {
    name: function
    for module in (plain_relations, plain_findings)
    for name, function in vars(module).items()
    if name in relations()
} | {"out_of_order_is_harmless": plain_findings.overtaken_without_room}
"""For each relation, a function that computes its rows from those of the relations it reads."""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Rows]]:
    """Rows of two traces: the quotas of the second are estimated."""
    folder = tmp_path_factory.mktemp("rich")
    paths = [write_tables(folder / f"{e}", rich_tables(1, estimated=e)) for e in (False, True)]
    with Trace(paths[0]) as given, Trace(paths[1]) as estimated:
        yield {False: Rows(given), True: Rows(estimated)}


def in_order(some: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows sorted, fractions rounded for it: nulls last."""

    def key(row: tuple[Any, ...]) -> list[tuple[bool, Any]]:
        return [
            (v is None, 0 if v is None else round(v, 6) if isinstance(v, float) else v) for v in row
        ]

    plain = [tuple(float(v) if isinstance(v, Decimal) else v for v in row) for row in some]
    return sorted(plain, key=key)


@pytest.mark.parametrize(
    ("name", "estimated"),
    [*((name, False) for name in REFERENCES), ("vc_quotas", True), ("wait_causes", True)],
)
def test_a_relation_has_the_rows_of_its_reference(
    name: str, estimated: bool, traces: dict[bool, Rows]
) -> None:
    rows = traces[estimated]
    found = in_order([tuple(vars(r).values()) for r in getattr(rows, name)])
    expected = in_order(list(REFERENCES[name](rows)))
    assert len(found) == len(expected) > 0
    for mine, due in zip(found, expected, strict=True):
        assert mine == tuple(
            pytest.approx(v, rel=1e-9, abs=1e-9) if isinstance(v, float) else v for v in due
        )
