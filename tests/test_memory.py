"""Read what is free from files as Linux writes them, and divide a budget among processes."""

from pathlib import Path

import pytest

from philly_analysis import memory
from philly_analysis.errors import InputError
from philly_analysis.memory import budget_bytes, divided_by, engine_bytes, free_bytes, parse_bytes
from philly_analysis.parallel import open_executor

GB = 10**9
GIB = 1024**3


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("4GB", 4 * GB), ("1.5 GiB", 3 * GIB // 2), ("512M", 512 * 10**6), ("4096", 4096)],
)
def test_sizes_are_read_as_people_write_them(text: str, n_bytes: int) -> None:
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["much", "-1GB", "4 XB", "IB", ""])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(InputError, match="no amount of memory"):
        parse_bytes(text)


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "ascii")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files of a machine that has 20 GiB free, and no limit."""
    write(tmp_path, meminfo=f"MemTotal: 99 kB\nMemAvailable:   {20 * 1024**2} kB\n", groups="")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_CONTROL_GROUPS", tmp_path / "cgroup")
    monkeypatch.delenv("PHILLY_MEMORY", raising=False)
    return tmp_path


def test_the_machine_says_what_is_free(machine: Path) -> None:
    assert machine.exists()
    assert free_bytes() == 20 * GIB


def test_the_tightest_control_group_counts_without_its_file_cache(machine: Path) -> None:
    write(machine, groups="0::/batch/job7\n")
    full = {"memory__current": f"{3 * GIB}", "memory__stat": f"anon 5\ninactive_file {GIB}\n"}
    write(machine / "cgroup/batch/job7", memory__max="max", **full)
    write(machine / "cgroup/batch", memory__max=f"{6 * GIB}", **full)
    assert free_bytes() == 4 * GIB


def test_control_groups_of_the_first_version_count(machine: Path) -> None:
    write(machine, groups="5:cpu,cpuacct:/\n4:memory:/job7\n")
    write(
        machine / "cgroup/memory/job7",
        memory__limit_in_bytes=f"{8 * GIB}",
        memory__usage_in_bytes=f"{5 * GIB}",
        memory__stat=f"total_inactive_file {2 * GIB}\n",
    )
    assert free_bytes() == 5 * GIB


def test_ulimit_counts(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    write(machine, status=f"VmSize:  {GIB // 1024} kB\nVmData: 7 kB\n")
    monkeypatch.setattr(memory, "_OWN_STATUS", machine / "status")
    limits = {resource.RLIMIT_AS: (4 * GIB, 4 * GIB), resource.RLIMIT_DATA: (-1, -1)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    assert free_bytes() == 3 * GIB


def test_processes_divide_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHILLY_MEMORY", "20GB")
    whole = engine_bytes()
    assert GB < whole < 20 * GB
    with divided_by(4) as share:
        assert share == str(5 * GB)
        assert engine_bytes() == whole // 4
    assert engine_bytes() == whole
    monkeypatch.setenv("PHILLY_MEMORY", "1GB")
    assert engine_bytes() == memory.LEAST_ENGINE_BYTES


@pytest.mark.parametrize(
    ("budget", "jobs", "processes"),
    [("4GB", 10**7, 1), ("16GB", 10**7, 2), ("4GB", 10**6, 3), ("1GB", 0, 3)],
)
def test_fewer_processes_run_where_each_needs_much(
    monkeypatch: pytest.MonkeyPatch, budget: str, jobs: int, processes: int
) -> None:
    monkeypatch.setenv("PHILLY_MEMORY", budget)
    assert memory.most_processes(3, jobs) == processes


@pytest.mark.parametrize(
    ("budget", "jobs", "threads"),
    [("4GB", 0, 4), ("4GB", 1_000_000, 4), ("4GB", 10_000_000, 1), ("10GB", 10_000_000, 2)],
)
def test_few_bytes_per_job_are_computed_by_few_threads(
    monkeypatch: pytest.MonkeyPatch, budget: str, jobs: int, threads: int
) -> None:
    monkeypatch.setenv("PHILLY_MEMORY", budget)
    assert memory.most_threads(4, jobs) == threads


@pytest.mark.slow
def test_a_process_has_its_part_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHILLY_MEMORY", "12GB")
    with open_executor(2) as executor:
        assert executor.submit(budget_bytes).result() == 4 * GB
