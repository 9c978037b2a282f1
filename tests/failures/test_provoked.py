"""Classify the recorded output of programs that fail for a known cause."""

from typing import Any

import numpy as np
import pytest

from philly_analysis.failures import classify_text, tiers_of
from tests.failures.provoke import CASES, outputs
from tests.failures.test_labelled_logs import macro_f1

FAILED = [case for case in CASES if case["reason"]]
OUTPUTS = outputs()
MISSED = {
    "hub-local-folder": "a tokenizer that lacks files, or a library: the message names both",
    "jax-preallocated-oom": "killed while it waits for memory, it prints warnings only",
    "rank-not-set": "a wrong call of torch.distributed is an MPI error as well",
}


def is_tenable(case: dict[str, Any], reason: str) -> bool:
    return reason in (case["reason"], *case.get("also", ()))


def test_each_case_has_an_output() -> None:
    assert {case["name"] for case in CASES} == OUTPUTS.keys() and len(OUTPUTS) == len(CASES)
    for case in FAILED:
        assert case["reason"] not in case.get("also", ())
        for reason in (case["reason"], *case.get("also", ())):
            tiers_of(reason)  # one of the reasons


@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in CASES])
def test_the_reason_is_tenable(case: dict[str, Any]) -> None:
    failure = classify_text(OUTPUTS[case["name"]])
    if not case["reason"]:
        assert failure.level in ("benign", "none")
    else:
        assert is_tenable(case, failure.reason) is (case["name"] not in MISSED)


def test_figures_at_first_sight() -> None:
    first = [(case["reason"], case.get("found", case["reason"])) for case in FAILED]
    pairs = [
        (label, label if is_tenable(case, predicted) else predicted)
        for case, (label, predicted) in zip(FAILED, first, strict=True)
    ]
    shares = [
        np.mean([label == predicted for label, predicted in pairs_of])
        for pairs_of in (first, pairs)
    ]
    assert (len(FAILED), len(CASES) - len(FAILED)) == (308, 23)
    assert (*shares, macro_f1(pairs)) == pytest.approx((0.776, 0.951, 0.949), abs=5e-4)
    assert sum(bool(case.get("found")) for case in CASES if not case["reason"]) == 1
