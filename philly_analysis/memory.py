"""Say how much memory this process may use: what a setting allows, or a share of what is free."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from philly_analysis.errors import InputError

SETTING = "PHILLY_MEMORY"
"""Environment variable with the budget of a command, e.g. ``4GB``; ``--memory`` sets it."""
LEAST_ENGINE_BYTES = 1_200_000_000
"""Memory that the engine has at least, with which every relation is tested to work."""
ENGINE_BYTES_PER_JOB = 400
"""Memory of the engine for relations of many jobs. With 244 bytes per job, each relation of half a
million jobs was computed; 200 were too few for five relations."""

_THREAD_BYTES_PER_JOB = 280
"""Memory of the engine per job for each of its threads. In reports of ten million jobs, two threads
with 140 or 210 bytes each failed, and one thread with 280 did not."""
_SHARE_OF_FREE = 0.75
"""Share of the free memory that is the budget where the setting has none."""
_ENGINE_SHARE = 0.7
"""Share of a process's budget that its engine may use; Python and Arrow need the other part."""
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}I": 1024**power for power, unit in enumerate("KMGT", start=1)}
_MEMINFO = Path("/proc/meminfo")
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_OWN_STATUS = Path("/proc/self/status")

_processes = 1


def budget_bytes() -> int:
    """Return the bytes that all processes of a command may use together.

    Raises
    ------
    InputError
        The environment variable ``PHILLY_MEMORY`` is not a number of bytes.
    """
    wanted = os.environ.get(SETTING)
    return parse_bytes(wanted) if wanted else int(_SHARE_OF_FREE * free_bytes())


def engine_bytes() -> int:
    """Return the bytes that the engine of this process may use before it spills to disk."""
    return max(LEAST_ENGINE_BYTES, int(_ENGINE_SHARE * budget_bytes() / _processes))


def most_processes(wanted: int, jobs: int) -> int:
    """Return how many processes may compute relations of so many jobs at once: 1 to `wanted`."""
    process_bytes = ENGINE_BYTES_PER_JOB * jobs / _ENGINE_SHARE
    return max(1, min(wanted, int(budget_bytes() / process_bytes))) if jobs else wanted


def most_threads(wanted: int, jobs: int) -> int:
    """Return how many threads of the engine may compute relations of so many jobs: 1 to `wanted`.

    Each thread needs memory of its own for its part of a relation.
    """
    return max(1, min(wanted, engine_bytes() // (_THREAD_BYTES_PER_JOB * jobs))) if jobs else wanted


def parse_bytes(text: str) -> int:
    """Return a number of bytes that is written as ``4GB``, ``512 MiB`` or ``4000000000``."""
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", text.upper())
    if not parts or parts[2] not in _UNITS:
        raise InputError(f"{text!r} is no amount of memory. Write e.g. 4GB.")
    return int(float(parts[1]) * _UNITS[parts[2]])


@contextmanager
def divided_by(processes: int) -> Iterator[str]:
    """Divide the budget among processes that run at once, while the context is open.

    Yields
    ------
    str
        The setting of each process, which it takes from its environment.
    """
    global _processes
    before, share = _processes, budget_bytes() // processes
    _processes = before * processes
    try:
        yield str(share)
    finally:
        _processes = before


def state() -> str:
    """Return a sentence with the budget of this process, where it comes from, and what is free."""
    source = SETTING if os.environ.get(SETTING) else "a share of the free memory"
    return (
        f"The memory budget is {budget_bytes() / _processes / 1e9:.1f} GB ({source}), "
        f"and {free_bytes() / 1e9:.1f} GB are free."
    )


def lack() -> str:
    """Return what an error says where the memory does not suffice."""
    return (
        f"the memory does not suffice. {state()} Allow more by the option --memory or the "
        f"variable {SETTING}, run one process (--jobs 1, where the command has it), or use a "
        "larger machine."
    )


def free_bytes() -> int:
    """Return the bytes that this process can still get: from machine, control groups and ulimit."""
    return min([_free_on_machine(), *_free_in_groups(), *_free_by_ulimit()])


def _free_on_machine() -> int:
    """Return the memory that the machine can give; half of all where the system does not say."""
    if _MEMINFO.exists():
        available = re.search(
            r"^MemAvailable:\s+(\d+) kB", _MEMINFO.read_text("ascii"), re.MULTILINE
        )
        if available:
            return int(available[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _free_in_groups() -> Iterator[int]:
    """Yield what is left of the limit of each control group that this process is in."""
    groups = _OWN_GROUPS.read_text("ascii").splitlines() if _OWN_GROUPS.exists() else []
    for _, controllers, path in (group.split(":", 2) for group in groups):
        if controllers == "":  # version 2 has one hierarchy
            root, names = _CONTROL_GROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = _CONTROL_GROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group_folder = root / path.lstrip("/")
        for folder in (group_folder, *group_folder.parents):
            if folder.is_relative_to(root):
                yield from _free_in_group(folder, *names)


def _free_in_group(folder: Path, limit: str, usage: str, reclaimable: str) -> Iterator[int]:
    """Yield what is left of one control group's limit; nothing where it has none."""
    try:
        most = (folder / limit).read_text("ascii").strip()
        used = int((folder / usage).read_text("ascii"))
        counts = dict(
            line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines()
        )
    except OSError:
        return
    if most != "max":
        yield max(0, int(most) - used + int(counts.get(reclaimable, 0)))


def _free_by_ulimit() -> Iterator[int]:
    """Yield what is left of the address space and of the data that ``ulimit`` allows."""
    try:
        import resource
    except ImportError:  # Windows has no limits of this kind
        return
    status = _OWN_STATUS.read_text("ascii", "replace") if _OWN_STATUS.exists() else ""
    used_kb = dict(re.findall(r"^(VmSize|VmData):\s+(\d+) kB", status, re.MULTILINE))
    for limit, field in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            yield max(0, most - 1024 * int(used_kb.get(field, 0)))
