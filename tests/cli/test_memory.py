"""Memory that runs out is said in a line, whoever runs out of it; see :mod:`tests.faults` too."""

import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import duckdb
import pytest

from philly_analysis.cli.memory import ran_out
from philly_analysis.errors import InputError

WORK = """
import os, signal, sys, time
from philly_analysis.cli.memory import watched
with watched():
    {}
"""
SAID = "philly: there is not enough memory for this"
ENDED = "philly: this was ended by {}, as happens where there is not enough memory"


LIMITED = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({1 << 33}, {1 << 33}))"


def working(work: str, before: str = "") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", before + WORK.format(work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("work", "status", "said"),
    [
        ("raise MemoryError", 1, SAID),
        ("os._exit(127)", 1, SAID),  # as the system does where a thread gets no data of its own
        ("os.abort()", 1, ENDED.format("SIGABRT")),
        ("os.kill(os.getpid(), 9)", 1, ENDED.format("SIGKILL")),
        ("sys.exit(3)", 3, ""),
        ("1 / 0", 1, "Traceback"),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, ""),
    ],
)
def test_however_it_ends_somebody_says_why(work: str, status: int, said: str) -> None:
    with working(work) as done:
        _, heard = done.communicate()
    assert done.returncode == status
    assert heard.startswith(said) if said else not heard


@pytest.mark.parametrize(("before", "said"), [(LIMITED, SAID), ("", "Traceback")])
@pytest.mark.parametrize(
    "failing",
    [
        "raise SystemError('error return without exception set')",
        "import duckdb; raise duckdb.InternalException('compressed page size out of range')",
    ],
)
def test_what_cannot_be_is_a_lack_where_there_is_a_limit(
    failing: str, before: str, said: str
) -> None:
    with working(failing, before) as done:
        _, heard = done.communicate()
    assert done.returncode == 1
    assert heard.startswith(said)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 7), (signal.SIGKILL, -9)])
def test_whoever_stops_the_command_stops_its_work(sent: int, status: int) -> None:
    with working(
        "try:\n        print(os.getpid(), flush=True)\n        time.sleep(60)\n"
        "    except KeyboardInterrupt:\n        sys.exit(7)"
    ) as done:
        assert done.stdout
        child = int(done.stdout.readline())
        assert child != done.pid
        done.send_signal(sent)
        assert done.wait() == status
        for _ in range(500):
            if (
                not Path(f"/proc/{child}").exists()
                or " Z " in Path(f"/proc/{child}/stat").read_text()
            ):
                break
            time.sleep(0.01)
        else:
            pytest.fail("its work goes on")


def test_a_lack_of_memory_is_known_by_whatever_name() -> None:
    def misled(error: Exception) -> InputError:
        try:
            try:
                raise error
            except Exception:  # noqa: BLE001
                raise InputError("the log says OutOfMemoryError: std::bad_alloc") from None
        except InputError as met:
            return met

    assert ran_out(MemoryError())
    assert ran_out(duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure"))
    assert ran_out(ImportError("std::bad_alloc"))
    assert ran_out(RuntimeError("can't start new thread"))
    assert ran_out(BrokenProcessPool())
    assert ran_out(misled(MemoryError()))
    assert ran_out(misled(duckdb.Error("Failed to allocate block of 9 bytes (bad allocation)")))
    # as the engine quotes a stream whose reader gets no memory
    quoted = "reading the stream registered as 'lines' failed: Out of memory: realloc of size 98304"
    assert ran_out(misled(duckdb.InvalidInputException(f"{quoted} failed. Detail: ...")))
    assert not ran_out(misled(ValueError("no list")))
    assert not ran_out(misled(BlockingIOError(11, "Resource temporarily unavailable")))
    assert not ran_out(misled(duckdb.OutOfMemoryException("failed to offload data block")))
    assert not ran_out(misled(BrokenProcessPool())), "which was said better"
    assert not ran_out(ValueError("no list"))


@pytest.mark.slow
@pytest.mark.parametrize("most_mb", [90, 250, 600, 800, 1050])
def test_a_command_with_too_little_memory_ends_and_says_so(most_mb: int, tmp_path: Path) -> None:
    """With 800 MB and a thread for each core SciPy's OpenBLAS asks for more and more, for ever."""
    done = subprocess.run(
        [sys.executable, "-c", "from philly_analysis.cli.app import main; main()", "fit", "a", "b"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most_mb << 20,) * 2),
        timeout=600,
    )
    assert done.returncode == 1
    assert "philly: " in done.stderr
    assert "not enough memory" in done.stderr or "is not a trace" in done.stderr
    assert "Traceback" not in done.stderr
