"""Check output of any size and compression: bounded memory, line numbers, no crash."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from philly_analysis.errors import InputError
from philly_analysis.failures import classify, classify_outputs, read_output

CAUSE = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "job.log"


def test_whole_file_is_read_when_it_fits(file: Path) -> None:
    file.write_text("step 1\n" + CAUSE)
    output = read_output(file)
    assert (output.text, output.skipped_lines) == (file.read_bytes(), 0)


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress], ids=["plain", "gzip"])
def test_long_file_keeps_head_tail_and_line_numbers(
    file: Path, pack: Callable[[bytes], bytes]
) -> None:
    lines = [f"row {i} loss 0.1\n" for i in range(300_000)]
    lines[250_000] = CAUSE
    file.write_bytes(pack("".join(lines).encode()))
    output = read_output(file, head=50_000, tail=1_500_000)
    assert len(output.text) < 50_000 + 1_500_000 + (1 << 20)
    assert output.skipped_lines > 0
    [failure] = classify_outputs([output])
    assert (failure.reason, failure.line_number) == ("GPU out of memory", 250_001)


def test_line_number_in_the_head_of_a_long_file(file: Path) -> None:
    file.write_text("start\n" + CAUSE + "step loss 0.1\n" * 300_000)
    [failure] = classify_outputs([read_output(file, head=50_000, tail=100_000)])
    assert (failure.reason, failure.line_number) == ("GPU out of memory", 2)


def test_truncated_gzip_gives_what_could_be_read(file: Path) -> None:
    file.write_bytes(gzip.compress((CAUSE * 20_000).encode())[:-30])
    output = read_output(file)
    assert output.damaged
    [failure] = classify_outputs([output])
    assert failure.reason in ("GPU out of memory", "No signature")


def test_classify_files_gives_one_row_per_file(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.log", tmp_path / "good.log"
    bad.write_text("ok\n" + CAUSE)
    good.write_text("epoch 1\nTraining completed\n")
    result = classify([bad, str(good)])
    assert result.table["reason"].tolist() == ["GPU out of memory", "No signature"]
    assert result.table["line_number"].tolist()[0] == 2
    assert (result.fact("files"), result.fact("matched")) == (2, 1)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.log cannot be read"):
        classify([tmp_path / "none.log"])
