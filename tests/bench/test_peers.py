"""Published simulators are run where they are, and skipped with a reason where they are not."""

import sys
from pathlib import Path

import pytest

from tests.bench import peers
from tests.bench.simulator import Work, again
from tests.simulator.drawn import job, machines


def test_programs_that_are_not_here_are_skipped_with_a_reason() -> None:
    lines = list(peers.beside({}, 1000))
    assert len(lines) == len(peers.PEERS)
    assert all("skipped" in line and "get it from" in line for line in lines)


def test_a_program_is_run_and_what_it_found_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.mkdir()
    (program / "run_sim.py").write_text(
        "import os, sys\n"
        "assert '--schedule=fifo' in sys.argv and 'PYTHONPATH' not in os.environ\n"
        "os.mkdir('result')\n"
        "open('result/job.csv', 'w').write('job_id,JCT\\na,10\\nb,30\\n')\n"
    )
    monkeypatch.setenv("PYTHONPATH", "x")
    given = f"{sys.executable},{program}"
    found = peers.theirs(peers.PEERS["tiresias"], given, tmp_path / "out", "fifo", tmp_path)
    assert found.mean_jct_s == 20 and found.cpu_s > 0
    assert not (program / "result").exists()


def test_what_accasim_found_is_read(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "stats-x").write_text("Total jobs: 2\nAvg. waiting times: 5.50\n")
    (tmp_path / "x.swf").write_text("; Version: 2\n1 0 0 10 1\n2 5 0 20 1\n")
    accasim = peers.PEERS["accasim"]
    assert accasim.mean_jct_s(tmp_path, tmp_path / "x.swf") == pytest.approx(15 + 5.5)


def test_the_same_jobs_again_come_when_those_before_have_ended() -> None:
    once = Work([job("a", 0, 1, 100), job("b", 30, 1, 10)], machines(2), {})
    twice = again(once, 2)
    assert len({spec.job_id for spec in twice.specs}) == 4
    assert min(spec.submit_s for spec in twice.specs[2:]) > 100
