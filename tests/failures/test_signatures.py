"""Check the table of signatures: shape, examples, and bounded patterns."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from re import _parser as regex_parser  # type: ignore[attr-defined]
from time import thread_time
from typing import Any

import polars as pl
import pytest

from philly_analysis.failures import (
    NO_SIGNATURE,
    REASONS,
    Failure,
    classify_text,
    classify_texts,
    signatures,
)
from philly_analysis.failures.context import texts_of
from philly_analysis.failures.hints import find_hinted
from philly_analysis.failures.lines import PIECE_CHARS, split_lines
from philly_analysis.failures.matching import find_evidence
from philly_analysis.failures.signature import RANKS, Signature, contexts
from philly_analysis.failures.suggest import is_explained
from philly_analysis.failures.tracebacks import Tracebacks
from tests.support.slow import quick_first

TABLE = signatures()


def test_the_table_is_as_large_as_that_of_the_study_and_its_ids_are_unique() -> None:
    assert len(TABLE) >= 230
    repeated = [name for name, n in Counter(rule.id for rule in TABLE).items() if n > 1]
    assert repeated == []


def test_every_reason_has_rules_and_every_rule_a_known_reason_and_role() -> None:
    names = {reason.name for reason in REASONS}
    assert len(REASONS) == 22
    assert {rule.reason for rule in TABLE} == names
    assert {rule.role for rule in TABLE} <= set(RANKS)
    assert all(rule.frameworks for rule in TABLE)
    assert {tier for reason in REASONS for tier in reason.tiers} == {"IF", "AE", "U"}


@cache
def read_examples() -> dict[str, tuple[list[str], Failure]]:
    """Return the rules that match each example, and what it is classified as, read together."""
    examples = [rule.example for rule in TABLE]
    lines = split_lines(examples)
    matches = {}
    decided = classify_texts(examples)
    for rule, text, hinted, failure in zip(
        TABLE, texts_of(lines), find_hinted(lines), decided, strict=True
    ):
        matched = find_evidence(
            text, hinted, Tracebacks(text, (evidence.at for evidence in hinted))
        )
        matches[rule.id] = [evidence.rule.id for evidence in matched], failure
    return matches


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.id)
def test_example_is_matched_by_its_own_rule_and_decided_by_it(rule: Signature) -> None:
    matched, decided = read_examples()[rule.id]
    assert rule.id in matched
    if rule.role in ("benign", "warning"):
        assert (decided.reason, decided.rule) == (NO_SIGNATURE, "")
    else:
        assert (decided.rule, decided.reason, decided.fine) == (rule.id, rule.reason, rule.fine)


@pytest.mark.parametrize(
    "prefix",
    quick_first(
        [
            "  ",
            "> ",
            "[rank3]: ",
            "[1,3]<stderr>:",
            "worker-0  | ",
            "gpu-07: ",
            "(train_fn pid=306) ",
            "2024-05-01T10:00:00.123456789Z stderr F ",
            "May  1 10:00:00 node17 slurm[12]: ",
            '{"level":"error","msg":"',
        ],
        3,
    ),
)
def test_what_launchers_and_loggers_write_before_a_line_changes_no_verdict(prefix: str) -> None:
    rules = [rule for rule in TABLE if rule.role not in ("benign", "warning")]
    examples = [rule.example for rule in rules if "\n" not in rule.example]
    prefixed = classify_texts(prefix + example for example in examples)
    changed = [
        example
        for example, bare, failure in zip(examples, classify_texts(examples), prefixed, strict=True)
        if failure.reason != bare.reason
    ]
    assert changed == []


LOGGED = {
    "ValueError: no such optimizer": "Traceback from crash",
    "PIL.CorruptError: page 4": "Incorrect inputs",
    "No module named 'flash_attn_2_cuda'": "Import error",
    "terminate called after throwing an instance of 'std::runtime_error'": "Core dump",
}


@pytest.mark.parametrize(
    "level",
    [
        "ERROR:root:",
        "2024-05-01 10:00:00,123 - ERROR - ",
        "2024-05-01 10:00:00,123 - trainer - ERROR - ",
        "2024-05-01 10:00:00.123 | ERROR    | __main__:main:12 - ",
        "[2024-05-01 10:00:00,123] [ERROR] [main.py:12:run] ",
        "E0501 10:00:00.123456 1234 main.cc:12] ",
    ],
)
def test_a_logged_error_is_read_like_one_that_is_printed(level: str) -> None:
    assert {line: classify_text(level + line).reason for line in LOGGED} == LOGGED


def test_hints_are_lower_case_and_one_is_in_what_the_pattern_matches() -> None:
    for rule in TABLE:
        assert all(hint == hint.lower() and len(hint) > 2 for hint in rule.hints), rule.id
        assert len(set(rule.hints)) == len(rule.hints), rule.id
        matched = [line for line in split_lines([rule.example]).pieces if rule.pattern.search(line)]
        assert any(hint in line.lower() for line in matched for hint in rule.hints), rule.id


def _repeats(tree: Any, inside: int = 1) -> Iterator[int]:
    """Yield how often each part of a pattern may repeat, counted through the parts around it."""
    for operation, argument in tree:
        times = inside
        if operation in (regex_parser.MAX_REPEAT, regex_parser.MIN_REPEAT):
            times = inside * argument[1]
            yield times
        children = argument if isinstance(argument, list | tuple) else [argument]
        for child in children:
            for part in child if isinstance(child, list) else [child]:
                if isinstance(part, regex_parser.SubPattern):
                    yield from _repeats(part, times)


def test_no_quantifier_is_unbounded_nor_nested_beyond_a_line() -> None:
    for pattern in {p for r in TABLE for p in (r.pattern, r.unless) if p}:
        tree = regex_parser.parse(pattern.pattern, pattern.flags)
        assert max(_repeats(tree), default=1) <= PIECE_CHARS, pattern.pattern


@pytest.mark.parametrize("name", contexts())
def test_a_context_is_where_python_finds_it(name: str) -> None:
    words = ["x.ckpt é no space", "saving model to", "loss(a): -1", "a\u00a0nan", "Job finished"]
    words += ["step 3", "Finished mdrun on rank 0", "checking for dlopen... yes"]
    lines = pl.Series([*words, *(line for rule in TABLE for line in rule.example.split("\n"))])
    pattern = re.compile(contexts()[name].replace(r"(?-u:\b)", r"\b"))
    expected = [pattern.search(line) is not None for line in lines]
    assert lines.str.contains(contexts()[name]).to_list() == expected
    assert any(expected)


def test_an_unbounded_quantifier_would_be_found() -> None:
    assert max(_repeats(regex_parser.parse(r"(?:a.*b)"))) > PIECE_CHARS
    assert max(_repeats(regex_parser.parse(r"(?:(?:ab{0,99}){0,99})"))) > PIECE_CHARS


def test_every_rule_searches_text_made_of_its_own_words_within_a_second() -> None:
    for rule in TABLE:
        began_s = thread_time()
        for seed in (*rule.hints[:2], rule.example[:60], "a", "Error "):
            rule.pattern.search((seed * PIECE_CHARS)[:PIECE_CHARS])
        assert thread_time() - began_s < 1, rule.id


def test_tiers_are_the_marks_of_table_7() -> None:
    marks = {reason.name: "+".join(reason.tiers) for reason in REASONS}
    marked = {"AE+U": 2, "IF+U": 4, "U": 4, "IF": 4, "AE": 6, "IF+AE+U": 1, "": 1}
    assert Counter(marks.values()) == marked
    assert (marks["Import error"], marks["Core dump"]) == ("IF+U", "AE+U")
    assert marks[NO_SIGNATURE] == ""


def test_an_output_is_explained_by_a_signature_that_names_a_cause() -> None:
    vague = {"benign", "warning", "ending", "suspicion", "fragment", "cascade", "interruption"}
    for rule in TABLE:
        is_signature = rule.level == "signature"
        assert is_explained(rule.id) == (is_signature and rule.role not in vague), rule.id
    assert not is_explained(None) and not is_explained("")
