"""Check the events in output, the level of verdicts, and their confidence."""

import tomllib
from pathlib import Path

import pandas as pd
import pytest

from philly_analysis import failures
from philly_analysis.failures import classify_text
from philly_analysis.failures.confidence import confidence_of

CHAIN = """\
2024-05-01 10:00:00 step 1 loss 0.3
[rank1]: UserWarning: RuntimeError: CUDA error may follow
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 9, in step
[rank1]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
Exception ignored in: <function Queue.__del__ at 0x7f>
OSError: handle is closed
2024-05-01 10:30:00 slurmstepd: error: *** STEP 5.0 ON n12 CANCELLED AT 2024-05-01T10:30:00 ***
[8.123456] NVRM: Xid (PCI:0000:3b:00): 45, pid=1
"""


def test_events_are_root_consequences_and_noise() -> None:
    failure = classify_text(CHAIN)
    assert (failure.reason, failure.line_number) == ("GPU out of memory", 5)
    assert [(e.line_number, e.part, e.kind, e.rank) for e in failure.events] == [
        (2, "noise", "program", "1"),
        (5, "root", "traceback", "1"),
        (6, "noise", "traceback", ""),
        (8, "consequence", "scheduler", ""),
        (9, "consequence", "driver", ""),
    ]
    assert failure.events[3].time == "2024-05-01 10:30:00"
    assert failure.events[4].time == "8.123456"
    assert (failure.events[2].reason, failure.events[2].rule) == ("", "")
    assert failure.alternatives == ("CUDA failure",)


def test_a_healthy_log_has_noise_only() -> None:
    failure = classify_text("Gradient overflow. Skipping step, reducing loss scale to 8\nstep 3\n")
    assert [event.part for event in failure.events] == ["noise"]
    assert failure.alternatives == ()


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("RuntimeError: CUDA out of memory", "signature"),
        ("transfer failed: errno: 121", "general rule"),
        ("KeyError: 'x'", "general rule"),
        ("Traceback (most recent call last):", "guess"),
        ("epoch 1 loss 0.3", "benign"),
        ("reading configuration", "none"),
    ],
)
def test_levels(text: str, level: str) -> None:
    failure = classify_text(text)
    assert failure.level == level
    assert 0.3 < failure.confidence < 1


def test_confidence_is_the_rule_of_succession_of_verdicts_at_first_sight() -> None:
    seen = pd.read_csv(Path(__file__).with_name("first_sight.csv"), keep_default_na=False)
    tenable = seen["label"] + "; " + seen["also_tenable"]
    seen["right"] = [f in t.split("; ") for f, t in zip(seen["found"], tenable, strict=True)]
    counted = seen.groupby("rests_on")["right"].agg(["size", "sum"])
    path = Path(failures.__file__).with_name("confidence.toml")
    groups = tomllib.loads(path.read_text("utf-8"))["group"]
    assert len(groups) == len(counted)
    for group in groups:
        assert [group["verdicts"], group["right"]] == counted.loc[group["name"]].to_list()
        for role in group["roles"] or ["ending"]:
            expected = (group["right"] + 1) / (group["verdicts"] + 2)
            assert confidence_of(group["level"], role) == pytest.approx(expected)


def test_every_rule_has_a_confidence() -> None:
    for rule in failures.signatures():
        assert rule.level in ("signature", "general rule")
        assert bool(rule.source) <= (rule.level == "general rule")
        if rule.role in ("confirmation", "root", "verdict", "symptom", "implicit"):
            assert confidence_of(rule.level, rule.role) > 0
