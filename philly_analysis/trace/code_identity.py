"""Identify the code that computes results: versions, and digests or modifications of its files."""

import os
import platform
import time
from contextlib import suppress
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_STARTED_NS = time.time_ns()
_LIBRARIES = ("duckdb", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "scipy")


def list_files(folder: Path) -> list[tuple[str, int, int]]:
    """Return the path, modification time and size of each file in a folder."""
    files = []
    for parent, folders, names in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for path in (os.path.join(parent, name) for name in names):  # noqa: PTH118 - faster
            with suppress(OSError):  # another process may replace the folder
                stat = os.stat(path)  # noqa: PTH116 - faster
                files.append((path, stat.st_mtime_ns, stat.st_size))
    return sorted(files)


@cache
def code_version() -> str:
    """Return what identifies the code: versions, and digests or modifications of its files.

    Empty: a checkout was edited since this process started.
    """
    package = distribution("philly-analysis")
    versions = [platform.python_version(), package.version, *map(version, _LIBRARIES)]
    prefix = f"{_PACKAGE.name}/"
    record = (package.read_text("RECORD") or "").splitlines()
    installed = sorted(line for line in record if line.startswith(prefix) and "=" in line)
    if any(line.startswith(f"{prefix}trace/code_identity.py,") for line in installed):
        return "\n".join([*versions, *installed])
    newest = max(modified for _, modified, _ in list_files(_PACKAGE))
    return "\n".join([*versions, str(newest)]) if newest < _STARTED_NS else ""
