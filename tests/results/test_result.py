"""Check the representations and exports of a Result."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from philly_analysis import analyze
from philly_analysis.errors import OutputError, UnknownNameError
from philly_analysis.results import Fact, Result, Results
from philly_analysis.results.formatting import quantity
from tests.support.small_traces import paper_trace

RESULT = Result(
    name="waiting",
    table=pd.DataFrame({"vc": ["<b>", "y"], "wait_s": [1.0, None]}),
    facts=(
        Fact("median_wait_s", 90.0, "median <wait>"),
        Fact("idle_pct", float("nan"), "not known"),
        Fact("jobs", 1_234_567, "jobs"),
    ),
    sentences=("Half of them waited <90 s.",),
    caveats=("Some are left out.",),
    question="How long do jobs wait?",
)


def test_the_text_of_a_result_has_question_sentences_and_facts() -> None:
    assert repr(RESULT) == "\n".join(
        [
            "waiting: How long do jobs wait?",
            "  Half of them waited <90 s.",
            "  median_wait_s = 1.5 min",
            "  idle_pct = –",
            "  jobs = 1,234,567",
            "  table: 2 rows of vc, wait_s",
        ]
    )


def test_the_html_of_a_result_is_complete_and_escaped() -> None:
    html = RESULT._repr_html_()
    for said in (
        "How long do jobs wait?",
        "waited &lt;90 s.",
        "Some are left out.",
        "1.5 min",
        "median &lt;wait&gt;",
        "&lt;b&gt;",
        "wait_s",
    ):
        assert said in html
    assert "<b>" not in html


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("wait_s", 5_400.0, "90 min"),
        ("idle_pct", 12.34, "12.3 %"),
        ("held_frac", 0.1234, "12.3 %"),
        ("gpu_h", 36_699.07, "36,699 GPU h"),
        ("lost_gpu_h", 0.0, "0 GPU h"),
        ("total_span_h", 12.0, "12.0 h"),
        ("offset_min", -420, "-420 min"),
        ("mem_used_gb", 8.0, "8.00 GB"),
        ("gang_rho", 0.1234, "0.12"),
        ("jobs", 4_344, "4,344"),
        ("push", 3, "3"),
        ("clocks_agree", "yes", "yes"),
        ("worst_day", None, "–"),
    ],
)
def test_a_fact_is_formatted_in_the_unit_of_its_name(
    name: str, value: float | str | None, said: str
) -> None:
    assert quantity(name, value) == said


def test_facts_are_read_by_name() -> None:
    facts = RESULT.facts
    assert facts.items() == [*zip(facts.keys(), facts.values(), strict=True)]
    assert dict(facts) == {"median_wait_s": 90.0, "idle_pct": None, "jobs": 1_234_567}
    assert facts.jobs == facts["jobs"] == RESULT.fact("jobs") == 1_234_567
    assert list(RESULT.table["vc"]) == ["<b>", "y"]
    with pytest.raises(UnknownNameError, match=r"no fact named 'job'. Did you mean 'jobs'"):
        _ = facts["job"]
    with pytest.raises(AttributeError, match=r"no fact named 'job'. Did you mean 'jobs'"):
        _ = facts.job


def test_results_have_names_and_a_table_of_facts() -> None:
    both = Results({"waiting": RESULT, "again": RESULT})
    assert both["waiting"] is both["again"] is RESULT
    with pytest.raises(UnknownNameError, match=r"no result named 'wating'. Did you mean 'waiting'"):
        _ = both["wating"]
    assert list(both.df()["result"]) == ["waiting"] * 3 + ["again"] * 3
    assert list(both.df()["value"][:1]) == [90.0]
    assert list(Results().df()) == list(both.df())


def test_a_result_is_drawn_and_written(tmp_path: Path) -> None:
    trace = paper_trace(tmp_path / "t")
    result = analyze(trace, "queueing_delay")
    assert result.fact("waits") == 4
    assert result.name == "queueing_delay"
    assert analyze(trace, "queueing_delay", "run_time")["queueing_delay"].facts == result.facts
    assert any(t.get_text() == "synthetic data" for t in result.plot().texts)
    hostile = replace(result, sentences=("'\"><b>",))
    assert "<img alt='&#x27;&quot;&gt;&lt;b&gt;' src=" in hostile._repr_html_()
    written = pd.read_csv(result.to_csv(tmp_path / "waits.csv"))
    pd.testing.assert_frame_equal(written, result.table, check_dtype=False)
    with pytest.raises(OutputError, match="cannot be written"):
        result.to_csv(tmp_path / "none" / "waits.csv")
    with pytest.raises(OutputError, match="no figure"):
        RESULT.plot()
