"""Compare each relation with a reference in plain Python, on a random trace full of flaws."""

import pkgutil
import re
import tomllib
from decimal import Decimal
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

import philly_analysis
from philly_analysis import analyze
from philly_analysis.results import Result
from philly_analysis.trace import histograms, week_counts
from philly_analysis.trace.connection import OPTIONAL
from philly_analysis.trace.relations import SQL_FOLDERS, relations, required_relations
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import Trace
from tests.analyses import plain
from tests.analyses.plain import Rows, findings
from tests.analyses.rich_trace import rich_tables
from tests.analyses.test_every_finding import EMPTY
from tests.support.clusters import MakeTrace, write_tables
from tests.support.small_traces import at

REFERENCES = {
    name: function
    for module in pkgutil.iter_modules(plain.__path__, f"{plain.__name__}.")
    for name, function in vars(import_module(module.name)).items()
    if name in relations()
} | {"out_of_order_is_harmless": findings.overtaken_without_room}
"""By relation, a function that computes its rows from the rows of the relations that it reads."""


PACKAGE = Path(philly_analysis.__file__).parent
FILES = {
    path.stem: path
    for folder in SQL_FOLDERS
    for path in sorted((PACKAGE / folder).glob("*.sql"))
    if path.stem != "macros"
}
"""Files of relations, by name."""

FACTS, SENTENCES = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    for name in ("facts", "sentences")
)


@cache
def expected(rows: Rows, name: str) -> list[tuple[Any, ...]]:
    """Rows of a relation's reference, in order."""
    return in_order(list(REFERENCES[name](rows)))


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
    [
        *((name, False) for name in REFERENCES),
        ("vc_quotas", True),
        pytest.param("wait_causes", True, marks=pytest.mark.slow),
    ],
)
def test_a_relation_has_the_rows_of_its_reference(
    name: str, estimated: bool, rich: dict[bool, Rows]
) -> None:
    compare(rich[estimated], name, expected(rich[estimated], name))


def test_the_header_of_a_relation_lists_its_columns_in_order(rich: dict[bool, Rows]) -> None:
    for name, file in FILES.items():
        header = list(takewhile(lambda line: line.startswith("--"), file.read_text().splitlines()))
        header = [
            line for line in header if not re.match("-- (materialized|binned|listed|by) ?", line)
        ]
        listed = [m[1] for line in header if (m := re.match(r"--   (\w+)  +\S", line))]
        assert header[0].endswith("?"), f"the first line of {name} asks the question"
        assert any(line.startswith("-- One row") for line in header), f"{name} states its grain"
        assert listed == rich[False].trace.answer(name).columns, name


def test_answers_come_in_a_fixed_order() -> None:
    for name, file in FILES.items():
        if file.parent.name == "analyses":
            assert file.read_text("utf-8").rstrip().endswith("order by all"), name


def test_no_relation_reads_what_does_not_exist() -> None:
    for name in relations():
        _, others = required_relations([name])
        assert others <= {*TABLES, "rejects", "settings", *OPTIONAL}, name


@pytest.mark.parametrize("name", sorted({*FACTS, *SENTENCES}))
def test_facts_and_sentences_are_those_of_relations(
    name: str, rich: dict[bool, Rows], rich_results: dict[str, Result]
) -> None:
    trace, result = rich[False].trace, rich_results[name]
    for fact, query in FACTS.get(name, {}).items():
        [(expected,)] = trace.sql(query).fetchall()
        value = result.fact(fact)
        assert value == (expected if isinstance(expected, str) else pytest.approx(expected)), fact
    said = "\n".join((*result.sentences, *result.caveats))
    for pattern, query in SENTENCES.get(name, {}).items():
        [row] = trace.sql(query).fetchall()
        assert pattern.format(*row) in said, said


def test_panels_of_unequal_height_are_drawn_into_axes_of_a_users_figure(
    rich_results: dict[str, Result],
) -> None:
    for name in ("occupancy", "waits_by_day"):
        result = rich_results[name]
        left, right = plt.figure().subplots(1, 2)
        result.plot(ax=left)
        upper, lower = (ax.get_position() for ax in left.figure.axes if ax not in (left, right))
        assert upper.height > 1.5 * lower.height and upper.x1 < right.get_position().x0
        plt.close("all")


def test_other_clusters_are_not_compared_with_the_notebooks_curves(
    rich: dict[bool, Rows],
) -> None:
    names = ["gpu_util", "host_util", "notebook_definitions"]
    assert not any(result.comparisons for result in analyze(rich[False].trace, names).values())


def compare(rows: Rows, name: str, reference: list[tuple[Any, ...]]) -> None:
    """Check that a relation has the rows of a reference, whatever their order."""
    plain_rows = in_order([tuple(vars(r).values()) for r in getattr(rows, name)])
    assert len(plain_rows) == len(reference) > 0
    for mine, due in zip(plain_rows, reference, strict=True):
        assert mine == due or mine == tuple(
            pytest.approx(v, rel=1e-9, abs=1e-9) if isinstance(v, float) else v for v in due
        )


@pytest.mark.slow
def test_the_size_of_slices_changes_no_count(
    rich: dict[bool, Rows], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, size in ((week_counts, "_SLICE"), (week_counts, "_MAX_COUNTS"),
                         (histograms, "_CHUNK"), (histograms, "_MAX_SORTED")):  # fmt: skip
        monkeypatch.setattr(module, size, 97)
    with Trace(write_tables(tmp_path / "t", rich_tables(1))) as trace:
        sliced = Rows(trace)
        for name in (n for n, r in relations().items() if r.samples):
            compare(sliced, name, expected(rich[False], name))


@pytest.mark.parametrize(
    "names",
    [
        ("failure_costs_pool", "gpu_use_gaps", "run_time_over_week"),
        pytest.param(tuple(relations()), marks=pytest.mark.slow),
    ],
)
def test_an_empty_trace_has_rows_in_relations_of_one_row_only(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    with Trace(write_tables(tmp_path / "t", EMPTY)) as trace:
        rows = {name: trace.sql(f"from {name}").fetchall() for name in names}
    assert rows["run_time_over_week"] == [(None,)]
    assert len(rows.pop("wait_reasons", "ab")) > 1
    one = {n for n in names if relations()[n].row.startswith(("One row.", "One row,"))}
    assert {name: len(some) for name, some in rows.items() if some} == dict.fromkeys(one, 1)


@pytest.mark.parametrize("last", [(9, 1, 2), (0, 9, None), (0, 8, 9)])
def test_a_log_ends_with_its_last_submission_start_or_end(
    make_trace: MakeTrace, last: tuple[int, int, int | None]
) -> None:
    submitted, started, ended = last
    jobs = [("a", "v", "u", 1, 0, "Pass"), ("b", "v", "u", 1, submitted, "Pass")]
    trace = make_trace(jobs, [("a", 1, 0, 1), ("b", 1, started, ended)])
    assert trace.sql("select ended_at from snapshot").fetchall() == [(at(9),)]
