"""Run the programs of ``provoked.toml`` on a machine with a GPU, and keep what each prints.

``python -m tests.failures.provoke OUT.jsonl.gz [NAME…]`` needs the libraries that the file names,
g++ and nvcc, and the rights of root for full disks, missing drivers and killed processes. It takes
four minutes on 16 cores.
"""

import gzip
import json
import os
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, TimeoutExpired, run
from tempfile import TemporaryDirectory
from typing import Any

TIMEOUT_S = 120
TABLE = tomllib.loads(Path(__file__).with_name("provoked.toml").read_text("utf-8"))
CASES: list[dict[str, Any]] = TABLE["case"]


def outputs() -> dict[str, str]:
    """Return the recorded outputs by name of the case."""
    with gzip.open(Path(__file__).with_name("provoked.jsonl.gz"), "rt", encoding="utf-8") as file:
        return {row["name"]: row["output"] for row in map(json.loads, file)}


def _output(case: dict[str, Any]) -> str:
    with TemporaryDirectory(prefix="job-") as folder:
        program = TABLE["snippets"].get(case.get("before"), "") + case.get("program", "")
        Path(folder, "train.py").write_text(program, "utf-8")
        Path(folder, "job.sh").write_text(case.get("script", ""), "utf-8")
        variables = {
            "HOME": folder,
            "TRITON_CACHE_DIR": folder,
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }
        try:
            output = run(
                ["bash", "-c", case.get("command", "python3 train.py")],
                cwd=folder,
                env={**os.environ, **variables, **case.get("env", {})},
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                timeout=TIMEOUT_S,
                check=False,
            ).stdout
        except TimeoutExpired as late:
            output = late.output or b""
        return output.decode("utf-8", "replace").replace(folder, "/job")


def main(out: str, *names: str) -> None:
    cases = [c for c in CASES if "kernel_log_of" not in c and (not names or c["name"] in names)]
    with ThreadPoolExecutor(8) as pool, gzip.open(out, "wt", encoding="utf-8") as file:
        for case, output in zip(cases, pool.map(_output, cases), strict=True):
            file.write(json.dumps({"name": case["name"], "output": output}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
