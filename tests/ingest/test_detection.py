"""Tests that the source `auto` recognises files by their content, and asks where it cannot."""

from pathlib import Path

import pytest

from philly_analysis.errors import InputError
from philly_analysis.ingest.source_registry import detect_source

HEADERS = {
    "itp-2021": ("cluster10.csv", "job_id,submission_time,duration,num_gpu"),
    "philly-passed": ("philly.csv", "timestamp,duration,num_gpus,gpu_time,cluster"),
    "philly-attempts": ("philly_df_schedule.csv", ",run_time,wait_time,submit_time,gpu_num"),
    "helios-15k": (
        "helios_data_training.csv",
        "u_id,user,gpu_num,cpu_num,node_num,interval,run_time,wall_time,new_status",
    ),
    "thetagpu-2023": (
        "data_thetagpu.csv",
        ",job,user,project,state,gpu_num,cpu_num,node_num,submit_time,wait_time,run_time,"
        "wall_time,node_hour,new_status",
    ),
    "alibaba-openb-2023": (
        "openb_pod_list_default.csv",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time",
    ),
    "swf": ("lab.swf", "; Version: 2.2\n" + " ".join(["1"] * 18)),
}
"""Published name and first lines of a trace's jobs, by the name of its map."""


def test_the_source_is_detected_from_the_files(tmp_path: Path) -> None:
    for files, source in (
        ({"cluster_job_log": "[]"}, "philly"),
        ({"pai_job_table.csv": ""}, "pai"),
        ({"map.toml": "", "a.csv": ""}, "table"),
        ({"sacct.txt": "JobIDRaw|User|Submit|Start|End|State|AllocTRES|\n"}, "slurm"),
        ({"sacct.json": '{"jobs": [{"time": {}, "state": {}}]}'}, "slurm"),
    ):
        folder = tmp_path / "-".join(files)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        assert detect_source(folder) == (source, None)
    assert detect_source(folder / "sacct.json") == ("slurm", None)
    (tmp_path / "trace-data.tar.gz").touch()
    assert detect_source(tmp_path / "trace-data.tar.gz") == ("philly", None)


@pytest.mark.parametrize("name", HEADERS)
def test_a_public_trace_is_detected_by_its_name_and_columns(name: str, tmp_path: Path) -> None:
    file, first = HEADERS[name]
    (tmp_path / file).write_text(f"{first}\n")
    assert detect_source(tmp_path) == detect_source(tmp_path / file) == ("table", name)


def test_a_file_of_such_a_name_with_other_columns_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "cluster10.csv").write_text("job,submitted,duration,num_gpu\n")
    with pytest.raises(InputError, match="no source recognises"):
        detect_source(tmp_path)


def test_files_of_two_sources_are_asked_about(tmp_path: Path) -> None:
    file, first = HEADERS["itp-2021"]
    (tmp_path / file).write_text(f"{first}\n")
    (tmp_path / "sacct.txt").write_text("JobIDRaw|User|Submit|Start|End|State|AllocTRES|\n")
    with pytest.raises(InputError, match="slurm, table with the map itp-2021"):
        detect_source(tmp_path)


@pytest.mark.real_data
def test_public_traces_are_detected_as_they_were_published(traces: Path) -> None:
    folders = {
        "alibaba-openb-2023": "alibaba-openb-2023",
        "bluewaters": "blue-waters-15k",
        "helios-2020": "helios-15k",
        "itp-2021": "itp-2021",
        "mit-supercloud-2021": "mit-supercloud-2021",
        "philly-attempts": "philly-attempts",
        "philly-first-15k-attempts": "philly-first-15k",
        "philly-passed-jobs": "philly-passed",
        "thetagpu-2023": "thetagpu-2023",
    }
    assert {f: detect_source(traces / f)[1] for f in folders} == folders
