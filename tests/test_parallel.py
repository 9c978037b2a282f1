"""Check that parallel work returns results in order, on processes and on a Dask cluster."""

import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from philly_analysis import advise, ingest, parallel, report, sweep
from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.experiments import sweeps
from philly_analysis.ingest import csv_file
from philly_analysis.ingest.samples import validate
from philly_analysis.parallel import map_ordered, open_executor, require_visible
from philly_analysis.trace import week_counts
from philly_analysis.trace.trace import Trace
from tests.analyses.samples import sampled_cluster
from tests.bench import archive
from tests.experiments.test_advice import convoys, trace_of
from tests.support.clusters import write_tables
from tests.support.command_line import run


def test_outcomes_are_in_order_and_few_tasks_are_read_ahead() -> None:
    drawn: list[int] = []
    taken = 0

    def tasks() -> Iterator[int]:
        for i in range(40):
            drawn.append(i)
            assert len(drawn) - taken <= 4
            yield i

    with ThreadPoolExecutor(3) as threads:
        for i, answer in enumerate(map_ordered(threads, math.factorial, tasks(), ahead=4)):
            assert answer == math.factorial(i)
            taken += 1
    assert taken == len(drawn) == 40


def test_an_error_is_raised_and_no_other_task_starts() -> None:
    begun = []
    late = threading.Event()

    def work(i: int) -> int:
        begun.append(i)
        if i == 1:
            raise ValueError("one")
        late.wait(5 if i == 2 else 0)
        return i

    with ThreadPoolExecutor(1) as threads:
        answers = map_ordered(threads, work, range(10), ahead=6)
        assert next(answers) == 0
        with pytest.raises(ValueError, match="one"):
            next(answers)
        late.set()
    assert len(begun) < 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_on_this_machine(jobs: int) -> None:
    with open_executor(jobs) as executor:
        assert list(map_ordered(executor, math.sqrt, [1.0, 4.0, 9.0], ahead=2)) == [1, 2, 3]
        with pytest.raises(ValueError, match=r"domain|nonnegative"):
            list(map_ordered(executor, math.sqrt, [-1.0], ahead=2))


def test_workers_end_when_their_parent_is_killed() -> None:
    killed = """
import os
from philly_analysis.parallel import processes
with processes(1) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), 9)
"""
    words = [sys.executable, "-c", killed]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False, timeout=300)
    # the worker holds what it may print to, whose end was awaited here
    assert done.returncode == -signal.SIGKILL
    assert int(done.stdout)


def test_no_workers_are_refused() -> None:
    with pytest.raises(InputError, match="number of processes is 0"), open_executor(0):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="a semaphore is a file on Linux")
def test_processes_need_a_semaphore_file() -> None:
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8)); "
        "from philly_analysis.cli import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", limited, "report", "none", "--jobs", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("philly: a second process cannot be started")
    assert "Traceback" not in ended.stderr


def test_errors_of_other_processes_can_be_pickled() -> None:
    for error in (UnknownNameError("policy", "fifa", {"fifo": 1, "sjf": 2}), InputError("so")):
        there = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert (type(there), str(there)) == (type(error), str(error))


def test_parts_of_a_file_are_its_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", 16)
    for rows in ("", "a,b\n", "1,2\n" * 40, "x" * 40 + "\n" + "1,2,3\n" * 9, "\n\n\n1\n" * 9):
        path = tmp_path / "f"
        path.write_text(f"h,h\n{rows}")
        file = csv_file.CsvFile(path, ("h", "h"), (("a", "b"),), ())
        read = [block for piece in file.spans(3) for block in file.read_spans(piece)]
        blocks = list(file.blocks())
        assert [b.text for b in read] == [b.text for b in blocks]
        assert [b.offset for b in read] == [b.offset for b in blocks]
        assert "".join(b.text.decode() for b in read) == rows


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A Dask cluster of two workers on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as own:
        yield own


def kill_a_worker(cluster: Any) -> None:
    """Kill one of its workers with -9."""
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        _, process = min(client.run(os.getpid).items())
    os.kill(process, signal.SIGKILL)


def once(
    monkeypatch: pytest.MonkeyPatch, of: Any, name: str, first: Callable[[], None]
) -> list[None]:
    """Do something when a function is called for the first time; return a list of its calls."""
    usual, calls = getattr(of, name), list[None]()

    def called(*given: Any, **named: Any) -> Any:
        calls.append(None)
        if len(calls) == 1:
            first()
        return usual(*given, **named)

    monkeypatch.setattr(of, name, called)
    return calls


def contents(folder: Path, pattern: str) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.glob(pattern))}


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw files of eleven weeks, with their faults."""
    folder = tmp_path_factory.mktemp("archive") / "raw"
    archive.write(folder, 0.002, hard=True)
    return folder


@pytest.mark.slow
def test_a_trace_is_the_same_though_a_worker_is_killed(
    cluster: Any, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", 1 << 16)
    calls = once(monkeypatch, validate.ValidatedBlock, "renumbered", lambda: kill_a_worker(cluster))
    address = cluster.scheduler_address
    there = ingest("philly", raw, tmp_path / "there", executor=address).manifest
    here = ingest("philly", raw, tmp_path / "here").manifest
    assert len(calls) > 100
    assert there.digests == here.digests
    assert (there.accounts, there.rows, there.inputs) == (here.accounts, here.rows, here.inputs)
    assert sum(sum(account.rejected.values()) for account in here.accounts) > 50
    tables = [contents(tmp_path / name, "**/*.parquet") for name in ("here", "there")]
    assert tables[0] == tables[1]


@pytest.mark.slow
def test_advice_is_the_same_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    jobs = convoys(np.random.default_rng(7), 100, load=0.5)
    with trace_of(jobs, tmp_path / "here") as trace:
        here = advise(trace, months=3)
    with trace_of(jobs, tmp_path / "there") as trace:
        there = advise(trace, months=3, executor=cluster.scheduler_address)
    pd.testing.assert_frame_equal(here.table, there.table)
    assert here.facts == there.facts


@pytest.mark.slow
def test_materialized_weeks_are_the_same_though_a_worker_is_killed(
    cluster: Any, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest("philly", raw, tmp_path / "here")
    for name in ("there", "processes"):
        shutil.copytree(tmp_path / "here", tmp_path / name)
    monkeypatch.setattr(week_counts, "_SLICE", 4_000)
    asked = ("gpu_use_bins", "host_util_bins")

    def ask(name: str, executor: Executor | None) -> dict[str, bytes]:
        with Trace(tmp_path / name, executor=executor) as trace:
            trace.create(asked)
        files = contents(tmp_path / name / "derived", "*_bins-*/*.parquet")
        assert len(files) == 2 * 11
        return files

    with open_executor(2) as executor:
        processes = ask("processes", executor)
    with open_executor(cluster.scheduler_address) as executor:
        calls = once(monkeypatch, week_counts, "_write_week", lambda: kill_a_worker(cluster))
        there = ask("there", executor)
    assert calls
    assert ask("here", None) == there == processes


@pytest.mark.slow
def test_a_sweep_is_the_same_though_a_worker_is_killed(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swept(name: str, **where: Any) -> dict[str, bytes]:
        asked: dict[str, Any] = {"loads": [0.9], "seeds": range(3), "jobs": 60, "cluster": 64}
        sweep(["literature"], ["fifo", "sjf"], tmp_path / name, **asked, **where)
        return contents(tmp_path / name, "*.csv") | contents(tmp_path / name, "runs/*.json")

    here = swept("here")
    calls = once(monkeypatch, sweeps, "save_text", lambda: kill_a_worker(cluster))
    there = swept("there", executor=cluster.scheduler_address)
    assert len(calls) == 6
    assert there == here


@pytest.mark.slow
@pytest.mark.parametrize("where", ["", "cluster"])
def test_a_report_is_the_same_wherever_its_samples_are_counted(
    where: str, cluster: Any, tmp_path: Path
) -> None:
    traces = [write_tables(tmp_path / f"{name}" / "t", sampled_cluster(3)) for name in "ab"]
    here = report(traces[0], tmp_path / "here").path
    asked: dict[str, Any] = {"cluster": cluster.scheduler_address} if where else {"workers": 2}
    there = report(traces[1], tmp_path / "there", **asked).path
    tables = sorted(f.name for f in (here.parent / "tables").iterdir())
    assert tables == sorted(f.name for f in (there.parent / "tables").iterdir())
    assert "gpu_util.csv" in tables
    assert contents(here.parent, "tables/*") == contents(there.parent, "tables/*")


@pytest.mark.real_data
def test_tables_of_a_real_trace_are_the_same_on_a_cluster(
    traces: Path, cluster: Any, tmp_path: Path
) -> None:
    raw, accounts = traces / "philly-multigpu-jobs", []
    for name, where in (("here", []), ("there", ["--cluster", cluster.scheduler_address])):
        trace, out = tmp_path / name / "multi", tmp_path / name / "reports"
        run("ingest", "philly-multigpu", raw, trace, *where)
        run("report", trace, "--out", out, *where)
        printed = {"json": run("analyze", trace, "--json").encode()}
        accounts.append(contents(trace, "*.parquet") | contents(out, "multi/tables/*") | printed)
    here, there = accounts
    assert len(here) > 30
    assert here == there


@pytest.mark.slow
def test_an_unusable_cluster_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = cluster.scheduler_address
    with open_executor(address) as executor:
        assert list(map_ordered(executor, math.sqrt, [1.0, 4.0, 9.0], ahead=2)) == [1, 2, 3]
        with pytest.raises(InputError, match=r"has no file .*same path"):
            list(map_ordered(executor, require_visible, [["/nowhere/to/be/seen"]], ahead=2))
    with monkeypatch.context() as other:
        other.setattr(parallel, "version", lambda name: "0")
        with (
            pytest.raises(InputError, match=r"philly-analysis .*numbers may differ"),
            open_executor(address),
        ):
            pass
    monkeypatch.setattr(parallel, "_TIMEOUT_S", 1)
    with (
        pytest.raises(InputError, match="no Dask scheduler can be reached"),
        open_executor("tcp://127.0.0.1:9"),
    ):
        pass
    cluster.scale(0)
    with pytest.raises(InputError, match="has no worker"), open_executor(address):
        pass


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_an_error() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        pytest.raises(InputError, match="one of 2 processes was killed"),
        open_executor(2) as executor,
    ):
        list(map_ordered(executor, os._exit, [9], ahead=2))
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as run,
        pytest.raises(InputError, match="failed"),
        open_executor(run.scheduler_address) as executor,
    ):
        list(map_ordered(executor, os._exit, [9], ahead=2))
