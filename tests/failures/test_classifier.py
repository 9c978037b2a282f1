"""Check which signature wins: known answers for cascades, and benign text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.failures import REASONS, classifier, classify_text, signatures, tiers_of
from philly_analysis.failures.lines import message

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'
ABORT_BLOCK = """\
MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD with errorcode 1.
mpirun noticed that process rank 1 with PID 0 on node gpu7 exited on signal 6 (Aborted).
"""
TORCHRUN = """\
WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 412 closing signal SIGTERM
ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 411)
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""
WATCHDOG = (
    "[E ProcessGroupNCCL.cpp:566] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1801060 milliseconds before "
    "timing out.\n"
)

CASCADES = {
    "launcher abort after a rank's traceback": (
        TRACEBACK + "KeyError: 'labels'\n" + ABORT_BLOCK,
        "Traceback from crash",
        3,
    ),
    "torchrun's summary after an import error": (
        TRACEBACK + "ModuleNotFoundError: No module named 'apex'\n" + TORCHRUN,
        "Import error",
        3,
    ),
    "time-out of the surviving ranks after an out-of-memory": (
        TRACEBACK + "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n" + WATCHDOG,
        "GPU out of memory",
        3,
    ),
    "time-out of the surviving ranks after an exception": (
        TRACEBACK + "IndexError: list index out of range\n" + WATCHDOG,
        "Traceback from crash",
        3,
    ),
    "clean-up traceback after a time-out": (
        WATCHDOG + TRACEBACK + "AttributeError: 'NoneType' object has no attribute 'step'\n",
        "MPI runtime failure",
        1,
    ),
    "glog's abort after a full disk while snapshotting": (
        "I1104 solver.cpp:322] Snapshotting to net_iter_10.caffemodel\n"
        "F1104 11:28:50.126173 31934 io.cpp:66] Check failed: proto.SerializeToOstream(&output)\n"
        "*** Check failure stack trace: ***\nAborted (core dumped)\n",
        "Model checkpoint error",
        2,
    ),
    "ECC named after the runtime's own words": (
        "RuntimeError: CUDA error: unspecified launch failure\n"
        "[18.914512] NVRM: Xid (PCI:0000:3b:00): 48, pid=20455, double bit error\n",
        "GPU ECC error",
        2,
    ),
    "memory kill confirmed after the shell's Killed": (
        "run.sh: line 9:  8231 Killed                  python3 main.py\n"
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=195.batch cgroup.\n",
        "CPU out of memory",
        2,
    ),
    "Slurm's cancel lines after a taken port": (
        "RuntimeError: The server socket has failed to bind to [::]:29500 "
        "(errno: 98 - Address already in use).\n"
        "srun: error: node44: task 3: Exited with exit code 1\n"
        "slurmstepd: error: *** STEP 5.1 ON node43 CANCELLED AT 2024-10-09T23:11:54 ***\n",
        "MPI runtime failure",
        1,
    ),
    "torn-down interpreter after a diverged loss": (
        "FloatingPointError: Loss became infinite or NaN at iteration=1042!\n"
        "Exception ignored in: <function Queue.__del__ at 0x7f>\n"
        + TRACEBACK
        + "ImportError: sys.meta_path is None, Python is likely shutting down\n",
        "Model diverged",
        1,
    ),
    "the object, not the exception's class": (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: "
        "run/model.ckpt-9.tempstate123456; No space left on device\n",
        "Model checkpoint error",
        1,
    ),
    "library before import": (
        TRACEBACK + "ImportError: libcudnn.so.7: cannot open shared object file\n",
        "Cannot load libraries",
        3,
    ),
    "scheduler's preemption before the aftermath": (
        "slurmstepd: error: *** STEP 5.0 ON n12 CANCELLED AT 2025-03-11T14:51:25 "
        "DUE TO PREEMPTION ***\nsrun: error: Timed out waiting for job step to complete\n",
        "Job preempted",
        1,
    ),
    "an exception although progress follows": (
        TRACEBACK + "KeyError: 'x'\n" + "".join(f"step {i} loss 0.3\n" for i in range(5)),
        "Traceback from crash",
        3,
    ),
    "a skipped batch after which the job dies all the same": (
        "| WARNING: ran out of memory with exception: CUDA out of memory. Tried to allocate 2 GiB\n"
        "Skipping batch\n" + TRACEBACK + "AttributeError: 'NoneType' object has no attribute 'x'\n",
        "GPU out of memory",
        1,
    ),
}

BENIGN = {
    "loss-scale step": "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 2",
    "batch skipped, training goes on": (
        "| WARNING: ran out of memory with exception: CUDA out of memory. Tried to allocate 2 GiB\n"
        "Skipping batch\nstep 12 loss 0.31\nstep 13 loss 0.30\n"
    ),
    "retry that succeeds": "ConnectionError on shard 3, retrying in 5 s [Retry 1/5]\nstep 1\n",
    "optional library": "W dso_loader.cc:64] Could not load dynamic library 'libnvinfer.so.7'; "
    "dlerror: libnvinfer.so.7: cannot open shared object file\n",
    "metric named error": "epoch 3 error: 0.12 val error: 0.13\n",
    "warning in a healthy log": "model.py:3: UserWarning: RuntimeError: CUDA error may follow\n",
    "exception ignored": "Exception ignored in: <x>\n" + TRACEBACK + "OSError: handle is closed\n",
    "loss that was not a number once": "step 1 loss: nan\nstep 2 loss: 3.1\nstep 3 loss: 2.9\n",
    "connection lost and found, training goes on": (
        "Connection reset by peer\n" + "".join(f"step {i} loss 0.3\n" for i in range(5))
    ),
    "missing file that the script did not need": (
        "cat: notes.txt: No such file or directory\n"
        + "".join(f"epoch {i} loss 0.3\n" for i in range(5))
    ),
    "counters at zero": "number of skipped iterations: 0 | number of nan iterations: 0 |\n",
}


@pytest.mark.parametrize("name", CASCADES)
def test_root_wins_over_its_cascade(name: str) -> None:
    text, reason, line_number = CASCADES[name]
    failure = classify_text(text)
    assert (failure.reason, failure.line_number) == (reason, line_number)
    assert failure.tiers == tiers_of(reason)


@pytest.mark.parametrize("name", BENIGN)
def test_benign_text_has_no_signature(name: str) -> None:
    failure = classify_text(BENIGN[name])
    assert (failure.reason, failure.rule, failure.line) == ("No signature", "", "")


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("epoch 1 loss 0.3\nepoch 2 loss 0.2\n", "benign"),
        ("reading configuration\n", ""),
        ("run.sh: line 9:  8231 Killed                  python3 main.py", "sigkill"),
        ("srun: error: gpu044: task 3: Exited with exit code 1", "wrapper_only"),
        ("*** STEP 40530.0 ON nid001096 CANCELLED AT 2023-12-12T17:30:16 ***", "cancelled"),
        ("*** JOB 9 ON n4 CANCELLED AT 2022-05-11T09:14:02 DUE TO TIME LIMIT ***", "time_limit"),
        (
            "*** JOB 9 ON n4 CANCELLED AT 2022-05-11T09:14:02 DUE TO NODE FAILURE ***",
            "node_failure",
        ),
    ],
)
def test_endings_without_a_cause_have_no_reason_but_a_fine_label(text: str, fine: str) -> None:
    failure = classify_text(text)
    assert (failure.reason, failure.tiers, failure.fine) == ("No signature", (), fine)


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


def test_of_many_kinds_of_lines_few_are_searched_and_the_causes_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    firsts = [rule.example.split("\n")[0] for rule in signatures()]
    text = "".join(f"{i} {firsts[i % len(firsts)]}\n" for i in range(40 * len(firsts)))
    searched = []

    def counted(piece: str) -> str:
        searched.append(piece)
        return message(piece)

    monkeypatch.setattr(classifier, "message", counted)
    few = classify_text(text)
    assert len(firsts) < len(searched) <= classifier.MOST_LINES
    monkeypatch.setattr(classifier, "MOST_LINES", len(text))
    assert classify_text(text) == few
    assert len(searched) > 12_000


@given(st.lists(st.sampled_from([*"abc\r\n\x1b[]:()0 ", "Error: ", "Traceback", "nan", "\x00"])))
def test_any_text_has_one_of_the_reasons_of_the_study(parts: list[str]) -> None:
    failure = classify_text("".join(parts))
    assert failure.reason in {reason.name for reason in REASONS}
    assert failure.tiers == tiers_of(failure.reason)
    assert (failure.rule == "") == (failure.line_number == 0)
