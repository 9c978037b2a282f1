"""Report out-of-memory errors as one line; see also :mod:`tests.faults`."""

from concurrent.futures.process import BrokenProcessPool
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
    BrokenProcessPool(),
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
    assert done.stderr == "philly: there is not enough memory for this. Give it more.\n"


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(INGEST, "slurm_command", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        invoke("slurm-command")
