"""Replay the shipped recording of a real Slurm under the policy slurm, with its own settings."""

import csv
import shutil
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from philly_analysis import Trace
from philly_analysis.simulator import simulate
from tests.slurm_lab import computed, repeated
from tests.slurm_lab.recording import LONG, SHIPPED, unpack
from tests.slurm_lab.table import TABLE

SETTINGS = ("scontrol-config", "scontrol-partition", "sacctmgr-assoc", "sacctmgr-qos")
ELIGIBLE = "select job_id, epoch(coalesce(eligible_at, submitted_at)) from jobs where gpus > 0"
STARTS = "select job_id, epoch(started_at) from attempts where attempt = 1 and started_at notnull"


def settings_of(recording: Path, folder: Path) -> Path:
    """Copy what describes the scheduling: configuration, partitions, accounts, reservations."""
    folder.mkdir()
    for name in (*SETTINGS, "sacctmgr-event"):
        shutil.copy(recording / "other" / f"{name}.txt", folder)
    for kind in ("reservation", "node"):
        for file in (recording / "collected").glob(f"scontrol-{kind}-*"):
            shutil.copy(file, folder)
    return folder


def waits(of: Path, recorded: Path) -> dict[str, float]:
    """Seconds from the recorded eligible time to the first start, by job."""
    with Trace(recorded) as trace:
        eligible = dict(trace.sql(ELIGIBLE).fetchall())
    with Trace(of) as trace:
        starts = trace.sql(STARTS).fetchall()
    return {job_id: at - eligible[job_id] for job_id, at in starts if job_id in eligible}


@pytest.mark.slow
@pytest.mark.parametrize(("archive", "order"), [(LONG, 0.85), (SHIPPED, 0.8)])
def test_replay_of_a_real_slurm_is_near(archive: Path, order: float, tmp_path: Path) -> None:
    """Of the short recording, jobs of eight seconds, the order of one second decides."""
    unpack(archive, tmp_path / "recording")
    recording = tmp_path / "recording"
    trace = computed.ingest_recording(
        recording, tmp_path / "ingest", computed.SNAPSHOTS["squeue and scontrol"]
    )
    settings = settings_of(recording, tmp_path / "settings")
    out = simulate(trace, "slurm", tmp_path / "replay", knobs={"settings": str(settings)})
    recorded, replayed = waits(trace, trace), waits(out, trace)
    jobs = sorted(recorded)
    assert len(jobs) >= 300
    assert sorted(recorded.values()) == sorted(repeated.waits(recording).values())
    assert recorded.keys() == replayed.keys()
    ratio = sum(replayed.values()) / sum(recorded.values())
    correlation = spearmanr([recorded[j] for j in jobs], [replayed[j] for j in jobs])[0]
    assert 0.85 <= ratio <= 1.15
    assert correlation >= order


@pytest.mark.slow
def test_the_table_of_repeated_scenarios_is_current() -> None:
    with TABLE.with_name("slurm-lab-repeated.csv").open() as file:
        header, *rows = map(tuple, csv.reader(file))
    assert (header, rows) == (repeated.HEADER, repeated.compared())


def test_the_agreement_of_waits_counts_jobs_of_both_recordings() -> None:
    first = {"0": 1.0, "1": 2.0, "2": 3.0, "3": 9.0}
    other = {"0": 10.0, "1": 30.0, "2": 20.0, "4": 9.0}
    assert repeated.agreement(first, other) == (3, 2.0, 20.0, pytest.approx(0.5))
