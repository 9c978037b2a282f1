"""Run published simulators through stand-ins; check the reason where none is installed."""

import sys
from pathlib import Path

import pytest

from tests.bench import other_simulators
from tests.bench.simulator import Work, repeated
from tests.simulator.drawn import job, machines


def test_missing_simulators_are_skipped_with_a_reason() -> None:
    lines = list(other_simulators.compared({}, 1000))
    assert len(lines) == len(other_simulators.SIMULATORS)
    assert all("skipped" in line and "get it from" in line for line in lines)


def test_a_simulator_runs_in_its_own_folder_and_its_result_is_read(
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
    found = other_simulators.theirs(
        other_simulators.SIMULATORS["tiresias"], given, tmp_path / "out", "fifo", tmp_path
    )
    assert found.mean_jct_s == 20 and found.cpu_s > 0
    assert not (program / "result").exists()


def test_the_result_of_accasim_is_read(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "stats-x").write_text("Total jobs: 2\nAvg. waiting times: 5.50\n")
    (tmp_path / "x.swf").write_text("; Version: 2\n1 0 0 10 1\n2 5 0 20 1\n")
    accasim = other_simulators.SIMULATORS["accasim"]
    assert accasim.mean_jct_s(tmp_path, tmp_path / "x.swf") == pytest.approx(15 + 5.5)


def test_each_repetition_of_the_jobs_starts_after_the_last_has_ended() -> None:
    once = Work([job("a", 0, 1, 100), job("b", 30, 1, 10)], machines(2), {})
    twice = repeated(once, 2)
    assert len({spec.job_id for spec in twice.specs}) == 4
    assert min(spec.submit_s for spec in twice.specs[2:]) > 100
