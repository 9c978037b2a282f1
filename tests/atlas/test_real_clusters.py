"""Compare the atlas of public traces with published numbers and plain readings of files."""

import csv
import gzip
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from philly_analysis import atlas
from philly_analysis.atlas.datasets import known_datasets
from philly_analysis.results.result import Result

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def table(traces: Path) -> Result:
    return atlas(datasets=traces)


def effect(result: Result, claim: str, cluster: str) -> float:
    [found] = result.table.query("claim == @claim and cluster == @cluster")["effect"].to_list()
    return float(found)


def verdicts(result: Result, claim: str) -> dict[str, str]:
    some = result.table.query("claim == @claim")
    return dict(zip(some["cluster"], some["verdict"], strict=True))


def rows(path: Path) -> Iterator[dict[str, str]]:
    text = path.read_bytes()
    text = gzip.decompress(text) if path.suffix == ".gz" else text
    yield from csv.DictReader(text.decode().splitlines())


def test_run_times_are_those_of_the_files(table: Result, traces: Path) -> None:
    attempts = [
        (float(r["run_time"]), int(r["gpu_num"]))
        for r in rows(traces / "philly-attempts" / "philly_df_schedule.csv.gz")
    ]
    median = statistics.median(run for run, _ in attempts)
    assert median == 791  # as the facts on the archive have it
    assert effect(table, "jobs_are_short", "Philly attempts") == median
    cost = sorted((run * gpus for run, gpus in attempts), reverse=True)
    top = sum(cost[: len(cost) // 10]) / sum(cost)
    assert effect(table, "gpu_time_is_in_few_jobs", "Philly attempts") == pytest.approx(
        100 * top, rel=1e-3
    )
    itp = [
        float(r["duration"])
        for file in sorted((traces / "itp-2021").iterdir())
        for r in rows(file)
        if int(r["num_gpu"]) > 0
    ]
    assert effect(table, "jobs_are_short", "Microsoft ITP") == pytest.approx(
        statistics.median(itp), rel=1e-3
    )


def test_helios_fails_as_its_rows_say(table: Result, traces: Path) -> None:
    jobs = [
        r
        for r in rows(traces / "helios-2020" / "helios_data_training.csv.gz")
        if float(r["gpu_num"]) > 0
    ]

    def failing(large: bool) -> float:
        some = [r for r in jobs if (int(r["gpu_num"]) > 4 if large else r["gpu_num"] == "1")]
        return sum(r["new_status"] == "Failed" for r in some) / len(some)

    found = effect(table, "large_gangs_fail_more", "Helios 15k")
    assert found == pytest.approx(failing(True) / failing(False))


def test_what_the_study_and_others_found_is_found_again(table: Result) -> None:
    assert verdicts(table, "jobs_are_short")["Philly attempts"] == "holds"
    assert verdicts(table, "gpu_time_is_in_few_jobs")["Philly attempts"] == "holds"
    # ATC'19, Table 3: 52 %; here gangs of several GPUs alone
    assert verdicts(table, "gpus_are_used_little")["Philly multi-GPU"] == "holds"
    assert 45 < effect(table, "gpus_are_used_little", "Philly multi-GPU") < 60
    # ATC'19, Table 5: spread gangs use less
    assert effect(table, "spread_gangs_use_less", "Philly multi-GPU") < 0
    assert set(verdicts(table, "fragmentation_delays_most").values()) == {"cannot be said"}


def test_samples_are_not_asked_what_they_were_chosen_by(table: Result) -> None:
    for claim in ("unsuccessful_jobs_cost_most", "large_gangs_fail_more", "failures_repeat"):
        assert verdicts(table, claim)["Philly passed"] == "cannot be said"
    assert verdicts(table, "waits_rise_with_gangs")["Philly multi-GPU"] == "cannot be said"
    assert verdicts(table, "gpu_time_is_in_few_jobs")["MIT SuperCloud"] == "cannot be said"


def test_every_folder_of_the_traces_is_known(traces: Path) -> None:
    folders = {f.name for f in traces.iterdir() if f.is_dir()}
    assert folders <= {d.folder for d in known_datasets()}
