"""Check what `classify` shows of a failure, and which lines it suggests for new signatures."""

import json
from pathlib import Path

import pytest

from philly_analysis import Trace, classify, ingest
from philly_analysis.errors import InputError
from philly_analysis.failures import REASONS, read_output
from philly_analysis.failures.output import classify_outputs

LOG = """\
Gradient overflow. Skipping step, reducing loss scale to 8
RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB {}
NVRM: Xid (PCI:0000:3b:00): 45, pid=1
"""


def test_sentences_name_root_consequence_noise_and_advice() -> None:
    sentences = classify(text=LOG.format("x" * 200)).sentences
    assert sentences[0].startswith(
        "text 1: root (program), line 2: RuntimeError: CUDA out of memory."
    )
    shown = sentences[0].partition("line 2: ")[2]
    assert shown.endswith("…") and len(shown) == 121
    just = "x" * (120 - len(LOG.splitlines()[1].format("")))
    assert classify(text=LOG.format(just)).sentences[0].endswith(just)
    assert sentences[1].startswith("text 1: consequence (driver), line 3: NVRM: Xid")
    assert sentences[2] == "text 1: noise in line 1."
    assert sentences[3].startswith("GPU out of memory, usually mended so: Reduce the batch")
    assert len(sentences) == 4


def test_an_unsure_verdict_is_said_to_be_unsure() -> None:
    sentences = classify(text="KeyError: 'x'\nNVRM: Xid (PCI:0000:3b:00): 45, pid=1").sentences
    unsure = [sentence for sentence in sentences if "of such verdicts are right" in sentence]
    assert unsure == [
        "text 1: only the class or code of the error is known; 83% of such verdicts are right; "
        "also possible: CUDA failure."
    ]
    assert not any(
        "usually mended" in s for s in classify(text="reading configuration\n").sentences
    )


def test_of_many_outputs_only_advice_is_given() -> None:
    three = classify(text=[LOG.format(i) for i in range(3)])
    four = classify(text=[LOG.format(i) for i in range(4)])
    assert len(three.sentences) == 3 * 3 + 1
    assert len(four.sentences) == 1


def test_each_reason_has_advice_with_a_source() -> None:
    for reason in REASONS:
        assert reason.advice.endswith(".")
        assert reason.source.startswith("https://") or reason.name == "No signature"


def test_events_have_masked_lines_and_numbers_of_the_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "job.log"
    file.write_text("start\n" + "step loss 0.1\n" * 300_000 + LOG.format("/home/jdoe/x"))
    [failure] = classify_outputs([read_output(file, head=1000, tail=100_000)])
    assert [e.line_number for e in failure.events] == [300_002, 300_003, 300_004]
    file.write_text(LOG.format("/home/jdoe/x"))
    table = classify(file, events=True).table
    assert table["part"].tolist() == ["noise", "root", "consequence"]
    assert table["line_number"].tolist() == [1, 2, 3]
    assert "/home/<user>/x" in table["line"][1]
    assert "/home/<user>/x" in classify(file).table["line"][0]


def test_unexplained_lines_are_counted_once_for_each_output() -> None:
    texts = [
        "read 7\nshardd: gave up on shard 17 of /data/x/y\nshardd: gave up on shard 3 of /a/y\n",
        "shardd: gave up on shard 4 of /data/x/q\n",
        "KeyError: 'a'\n",
        LOG,
    ]
    result = classify(text=texts, suggest=True)
    rows = result.table.to_dict("records")
    assert [(row["outputs"], row["line"]) for row in rows] == [
        (2, "shardd: gave up on shard * of *"),
        (1, "KeyError: 'a'"),
        (1, "read *"),
    ]
    assert rows[0]["reason"] == "No signature"
    assert rows[1]["reason"] == "Traceback from crash"
    assert rows[1]["example"] == "KeyError: 'a'"
    assert result.fact("unexplained") == 3


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ingest two failed jobs, of which one has output that no signature explains."""
    folder = tmp_path_factory.mktemp("unexplained")
    for name in ("raw", "output"):
        (folder / name).mkdir()
    attempt = {"start_time": "2017-10-10 10:00:00", "end_time": "2017-10-10 10:05:00"}
    log = [
        {
            "jobid": job,
            "status": "Failed",
            "vc": "v",
            "user": "u",
            "submitted_time": "2017-10-10 09:00:00",
            "attempts": [attempt | {"detail": [{"ip": "m1", "gpus": ["gpu0"]}]}],
        }
        for job in ("application_1", "application_2")
    ]
    (folder / "raw" / "cluster_job_log").write_text(json.dumps(log))
    text = "0\n1\n2\n3\n4\n\nshardd: gave up on shard 17 of /home/jdoe/y\n\n"
    (folder / "output" / "application_1.1.out").write_text(text)
    (folder / "output" / "application_2.1.out").write_text(LOG)
    ingest("philly", folder / "raw", folder / "trace", failures=folder / "output")
    return folder / "trace"


def test_a_trace_suggests_the_last_lines_of_unexplained_output(trace: Path) -> None:
    with Trace(trace) as opened:
        rows = opened.sql("select rule, excerpt from failures order by job_id").fetchall()
    assert rows[0] == (None, "1\n2\n3\n4\nshardd: gave up on shard 17 of /home/<user>/y")
    assert rows[1][0] == "torch_cuda_oom"
    table = classify(trace, suggest=True).table
    assert table["line"].tolist() == ["*", "shardd: gave up on shard * of *"]


def test_a_trace_is_no_output(trace: Path) -> None:
    with pytest.raises(InputError, match="is a trace"):
        classify(trace)


def test_a_trace_without_failed_output_is_refused(trace: Path, tmp_path: Path) -> None:
    ingest("philly", trace.parent / "raw", tmp_path / "trace")
    with pytest.raises(InputError, match="has no failed output"):
        classify(tmp_path / "trace", suggest=True)
