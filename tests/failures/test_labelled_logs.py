"""Measure agreement with labels on real output, with a confusion table."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from philly_analysis.failures import NO_SIGNATURE, Failure, classify_text

Classified = list[tuple[dict[str, Any], Failure]]


@pytest.fixture(scope="module")
def classified(failure_logs: Path) -> Classified:
    """Return (record, verdict) of every labelled excerpt."""
    text = (failure_logs / "dev.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    return [(record, classify_text(record["text"])) for record in records]


def macro_f1(pairs: list[tuple[str, str]]) -> float:
    """Return the mean F1 of the labels of (label, verdict)."""
    scores = []
    for reason in sorted({label for label, _ in pairs}):
        hit = sum(label == predicted == reason for label, predicted in pairs)
        said = sum(predicted == reason for _, predicted in pairs)
        true = sum(label == reason for label, _ in pairs)
        scores.append(2 * hit / (said + true))
    return sum(scores) / len(scores)


def testmacro_f1_of_a_known_confusion() -> None:
    assert macro_f1([("a", "a"), ("a", "b"), ("b", "b")]) == pytest.approx(2 / 3)


def test_agreement_with_the_labels(classified: Classified) -> None:
    pairs = [(record["category"], failure.reason) for record, failure in classified]
    n = len(pairs)
    accuracy = sum(label == reason for label, reason in pairs) / n
    tiers = sum(record["tier"] == "+".join(f.tiers) for record, f in classified) / n
    fine = sum(record["fine"] == f.fine for record, f in classified) / n
    healthy = [f for record, f in classified if record["fine"] == "benign"]
    alarms = sum(f.reason != NO_SIGNATURE for f in healthy)
    report = [
        f"{n} excerpts: macro F1 {macro_f1(pairs):.3f}, accuracy {accuracy:.3f}, "
        f"tiers {tiers:.3f}, fine labels {fine:.3f}, "
        f"false alarms {alarms} of {len(healthy)} healthy logs"
    ]
    for (label, reason), times in sorted(Counter(pairs).items()):
        report.append(f"  {times:3d}  {label:28} -> {'same' if label == reason else reason}")
    sys.stdout.write("\n".join(["", *report, ""]))
    assert macro_f1(pairs) >= 0.97
    assert tiers >= 0.97
    assert alarms == 0


def test_deciding_line_is_a_line_of_the_excerpt(classified: Classified) -> None:
    for record, failure in classified:
        if failure.rule:
            line = record["text"].split("\n")[failure.line_number - 1]
            assert failure.line in line
