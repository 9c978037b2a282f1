"""Report out-of-memory errors as one line; see also :mod:`tests.faults`."""

from importlib import import_module

import duckdb
import pyarrow as pa
import pytest

from philly_analysis.errors import InputError
from tests.support.command_line import invoke


def raised_from(cause: Exception) -> InputError:
    error = InputError("the file cannot be read")
    error.__context__ = cause
    return error


INGEST = import_module("philly_analysis.ingest")

LACKS = [
    MemoryError(),
    duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure"),
    pa.ArrowMemoryError("malloc of size 9 failed"),
    raised_from(MemoryError()),
]


@pytest.mark.parametrize("error", LACKS, ids=lambda error: type(error).__name__)
def test_a_lack_of_memory_is_one_line_and_exit_1(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(INGEST, "slurm_command", fail)
    done = invoke("slurm-command")
    assert done.exit_code == 1
    assert done.stderr.startswith("philly: the memory does not suffice. The memory budget is ")
    assert "--memory" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_option_is_the_budget_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(INGEST, "slurm_command", fail)
    monkeypatch.setenv("PHILLY_MEMORY", "5GB")  # which the option replaces, and the test restores
    assert "is 2.5 GB (PHILLY_MEMORY)" in invoke("slurm-command", "--memory", "2.5GB").stderr
    assert "'much' is no amount of memory" in invoke("slurm-command", "--memory", "much").stderr


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(INGEST, "slurm_command", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        invoke("slurm-command")
