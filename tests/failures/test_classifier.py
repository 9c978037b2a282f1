"""Check which signature wins: known answers for cascades, and benign text."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.failures import (
    NO_SIGNATURE,
    REASONS,
    classifier,
    classify_text,
    classify_texts,
    hints,
    matching,
    signatures,
    tiers_of,
)
from philly_analysis.failures.lines import message, split_lines

CASES = tomllib.loads(Path(__file__).with_name("classifier.toml").read_text("utf-8"))
CRASH = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nOSError: x\n'


@pytest.mark.parametrize("case", CASES["cascade"], ids=lambda case: case["name"])
def test_root_wins_over_its_cascade(case: dict[str, Any]) -> None:
    failure = classify_text(case["text"])
    assert (failure.reason, failure.line_number) == (case["reason"], case["line_number"])
    assert failure.tiers == tiers_of(case["reason"])


@pytest.mark.parametrize("text", CASES["benign"].values(), ids=CASES["benign"])
def test_benign_text_has_no_signature(text: str) -> None:
    failure = classify_text(text)
    assert (failure.reason, failure.rule, failure.line) == ("No signature", "", "")


@pytest.mark.parametrize("case", CASES["ending"], ids=lambda case: case["fine"])
def test_endings_without_a_cause_have_no_reason_but_a_fine_label(case: dict[str, str]) -> None:
    failure = classify_text(case["text"])
    assert (failure.reason, failure.tiers, failure.fine) == ("No signature", (), case["fine"])


@pytest.mark.parametrize(
    ("steps", "reason"), [(20, "Traceback from crash"), (2000, "No signature")]
)
def test_an_exception_long_before_progress_did_not_end_the_program(steps: int, reason: str) -> None:
    text = CRASH + "".join(f"step {i} loss 0.25 rate 0.001\n" for i in range(steps))
    assert classify_text(text).reason == reason


def test_sixteen_kib_after_an_exception_may_come_from_a_buffer() -> None:
    after = "\n".join(f"step {i} loss 0.25 rate 0.001 ".ljust(64, "=") for i in range(256))
    assert classify_text(CRASH + after).reason == "Traceback from crash"
    assert classify_text(CRASH + after + "=").reason == NO_SIGNATURE


def test_the_last_of_the_runs_in_a_log_decides() -> None:
    head = "2020-07-22 00:28:33,917 INFO inference.py line 78 Namespace(batch_size=1)\n"
    head += "2020-07-22 00:28:33,918 INFO inference.py line 79 => creating model ...\n"
    assert classify_text(head + CRASH).reason == "Traceback from crash"
    later = head.replace("07-22", "08-04").replace("size=1", "size=16")
    assert classify_text(head + CRASH + later).reason == "No signature"
    assert classify_text(head + CRASH + later + CRASH).reason == "Traceback from crash"


def test_a_service_that_logs_on_after_an_exception_did_not_fail() -> None:
    after = "".join(f"[I 11:23:{i % 60:02}.797 App] 302 GET / (127.0.0.1)\n" for i in range(600))
    assert classify_text(CRASH + after[:1000]).reason == "Traceback from crash"
    assert classify_text(CRASH + after).reason == "No signature"


def test_what_a_configuring_script_probes_is_no_failure() -> None:
    probe = "checking for ioccom.h\nconfigure:1095: sys/ioccom.h: No such file or directory\n"
    assert classify_text(probe).reason == "Incorrect inputs"
    assert classify_text(probe + "checking for dlopen... yes\n").reason == "No signature"


def test_a_program_that_reports_an_error_and_then_its_results_did_not_fail() -> None:
    report = "  CIDEr computation failed: [Errno 2] No such file or directory: 'java'\n"
    assert classify_text(report).reason == "Incorrect inputs"
    results = "".join(f"  BLEU-{n}:  {50 / n:.2f}\n" for n in range(1, 5))
    assert classify_text(report + results).reason == "No signature"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("2025-07-20 21:46:00,260 - main - INFO - Training completed successfully!", NO_SIGNATURE),
        ("{'train_runtime': 21142.8, 'train_loss': 5.2e-07, 'epoch': 25.0}", NO_SIGNATURE),
        ("Finished mdrun on rank 0 Tue Oct 14 16:07:03 2025", NO_SIGNATURE),
        ("Training completed successfully!", "Syntax error"),
    ],
)
def test_a_later_run_that_reports_its_completion_decides(end: str, reason: str) -> None:
    error = '  File "a.py", line 3\n    x = 1\nIndentationError: unexpected indent\n'
    later = "".join(f"item {i} of the data\n" for i in range(20))
    assert classify_text(error + later + end).reason == reason
    assert classify_text(error + end).reason == "Syntax error"
    assert classify_text(error + later + end + "\n" + error).reason == "Syntax error"


def test_a_run_that_went_on_until_its_time_limit_or_another_error_did_not_fail_before() -> None:
    error = (
        "E0510 22:36:24.479 1 numa.cc:121] Call to hwloc_set_cpubind() failed: Invalid argument\n"
    )
    steps = "".join(
        f"step={i}, energy=-1.4062+0.0004j, moved=0.53 of 4096 walkers\n" for i in range(400)
    )
    limit = "slurmstepd: error: *** JOB 7 ON g3 CANCELLED AT 2026-05-10 DUE TO TIME LIMIT ***\n"
    ended = classify_text(error + steps + limit)
    assert (ended.reason, ended.rule) == (NO_SIGNATURE, classify_text(limit).rule)
    for text in (error + limit, error + steps + error + limit):
        assert classify_text(text).reason == "Semantic error"
    later = "ValueError: invalid literal for int() with base 10: 'x'\n"
    assert classify_text(error + steps + later).line == later.strip()
    hang = "[E ProcessGroupNCCL.cpp:828] Watchdog caught collective operation timeout\n"
    assert classify_text(error + steps + hang).reason == "Semantic error"


def test_a_module_missing_in_a_worker_and_a_full_disk_of_a_node_are_named() -> None:
    # ray-project/ray#27015, kubernetes/kubernetes#91600
    worker = "ray.exceptions.RaySystemError: System error: No module named 'policy'\n"
    assert classify_text(worker).reason == "Import error"
    node = "Message: The node was low on resource: ephemeral-storage. Container app was using 9Ki"
    assert classify_text(node).fine == "no_space"


def test_a_file_that_a_program_cannot_read_is_an_input_and_one_to_write_is_none() -> None:
    line = "ERROR on proc 0: Cannot open restart file water.restart.mpiio (../read_restart.cpp:144)"
    assert classify_text(line).reason == "Incorrect inputs"
    assert classify_text(line + " for writing").reason != "Incorrect inputs"


@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_any_encoding_is_read(mark: str) -> None:
    text = "step 1\nRuntimeError: CUDA error: out of memory\n"
    assert classify_text(text.encode(mark)).reason == "GPU out of memory"


def test_colours_and_carriage_returns_do_not_hide_the_cause() -> None:
    bar = "\r".join(f" {i}%|###  | {i}/100 [00:01<00:09]" for i in range(100))
    text = f"{bar}\r\n\x1b[31mKey\x1b[0mError\x1b[0m: 'x'\r\n\x1b]0;title\x07done"
    failure = classify_text(text)
    assert (failure.reason, failure.line_number) == ("Traceback from crash", 2)


@pytest.mark.parametrize("text", ["", "\n\n", b"", b"\x00\xff\xfe\xfd" * 500, "\x1b[", "\r" * 99])
def test_empty_and_binary_text_have_no_signature(text: str | bytes) -> None:
    assert classify_text(text).reason == "No signature"


@given(
    st.lists(st.sampled_from([*(rule.example for rule in signatures()), "epoch 3", "", "\ud800"]))
)
def test_ends_of_lines_as_windows_writes_them_change_nothing(parts: list[str]) -> None:
    text = "\n".join(parts)
    assert classify_text(text.replace("\n", "\r\n")) == classify_text(text)


def test_the_cause_in_the_middle_of_a_megabyte_long_line_is_found() -> None:
    failure = classify_text("x" * 500_000 + " CUDA out of memory. " + "y" * 500_000)
    assert failure.reason == "GPU out of memory"
    assert len(failure.line) <= 500


@pytest.mark.parametrize(
    "seed", ["Error: ", "CUDA error ", '  File "', "[[[[", "a", "1 1 ", "output nan loss is "]
)
def test_a_hostile_megabyte_is_classified(seed: str) -> None:
    """Quadratic time would take hours."""
    text = (seed * (1_000_000 // len(seed) + 1))[:1_000_000]
    assert classify_text(text).reason in {reason.name for reason in REASONS}


@pytest.mark.slow
def test_of_many_kinds_of_lines_few_are_searched_and_the_causes_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    firsts = [rule.example.split("\n")[0] for rule in signatures()]
    text = "".join(f"{i} {firsts[i % len(firsts)]}\n" for i in range(40 * len(firsts)))
    searched = []

    def counted(piece: str) -> str:
        searched.append(piece)
        return message(piece)

    monkeypatch.setattr(matching, "message", counted)
    few = classify_text(text)
    assert len(firsts) < len(searched) <= hints.MOST_LINES
    monkeypatch.setattr(hints, "MOST_LINES", len(text))
    assert classify_text(text) == few
    assert len(searched) > 12_000


@given(st.lists(st.sampled_from([*"abc\r\n\x1b[]:()0 ", "Error: ", "Traceback", "nan", "\x00"])))
def test_any_text_has_one_of_the_reasons_of_the_study(parts: list[str]) -> None:
    failure = classify_text("".join(parts))
    assert failure.reason in {reason.name for reason in REASONS}
    assert failure.tiers == tiers_of(failure.reason)
    assert (failure.rule == "") == (failure.line_number == 0)


@given(st.lists(st.sampled_from([rule.example for rule in signatures()]), max_size=8))
def test_texts_are_classified_together_as_alone(texts: list[str]) -> None:
    assert list(classify_texts(texts)) == [classify_text(text) for text in texts]


def test_limits_of_searched_lines_are_those_of_each_text(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{i} {rule.example.splitlines()[0]}\n" for i, rule in enumerate(signatures())]
    texts = ["".join(lines), "".join(reversed(lines)), lines[7], 30_000 * "KeyError: 'x'\n"]
    texts.append(99 * "KeyError: 'x'\n" + "CUDA out of memory\n")
    monkeypatch.setattr(hints, "MOST_LINES", 100)
    alone = [[hint] for text in texts for hint in hints.find_hinted(split_lines([text]))]
    together = hints.find_hinted(split_lines(texts))
    assert [[hint] for hint in together] == alone
    assert 0 < len(together[0]) < len(lines)
    assert len(together[3]) == len(together[4]) == hints.MOST_LINES


def test_texts_are_read_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "BATCH_CHARS", 20)
    read = []

    def texts() -> Iterator[str]:
        for i in range(5):
            read.append(i)
            yield "KeyError: 'x'"

    failures = classify_texts(texts())
    next(failures)
    assert read == [0, 1]
    assert len(list(failures)) == 4
