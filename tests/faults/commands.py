"""Define commands that write, on a small trace: inputs, command line and check of the output."""

import atexit
import json
import multiprocessing
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pyarrow.parquet as pq

from philly_analysis.atomic import recover
from philly_analysis.exports.sidecar import sidecar_of
from philly_analysis.trace.manifest import DERIVED, MANIFEST, Manifest
from tests.faults.dataset_server import register, serve
from tests.support.repository import ROOT

_VOLATILE = ("made_at", "file", "run_with")
_RESUMED = ".fetching"
_TEMPORARY = (".partial", ".old-", ".lock-", "ingest-", ".part", _RESUMED)
_MESSAGE = re.compile(r"^philly: .+", re.MULTILINE)
_PATIENCE_S = 3600
_ADDRESS = "address"
_FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
FORKED = multiprocessing.get_context("forkserver")
# a command is forked from a process that has loaded the package, so that faults meet its work
FORKED.set_forkserver_preload(["philly_analysis.api", "philly_analysis.ingest.build"])


@dataclass(frozen=True)
class Command:
    """A command to inject faults into.

    Attributes
    ----------
    line
        The command line; ``{at}`` is the folder of a round, ``{once}`` the folder of shared
        inputs, ``{published}`` the address of the dataset server.
    inputs
        Shared inputs to copy to the folder of a round: ``trace:out``, separated by spaces.
    rerun
        Options to add when the output exists.
    read_only
        The command writes only what can be computed again.
    """

    line: str
    inputs: str = ""
    rerun: str = ""
    read_only: bool = False

    def words(self, at: Path, *, done: bool = False) -> list[str]:
        """Return the words of the command line in a round; `done`: its output exists."""
        line = f"{self.line} {self.rerun}" if done else self.line
        once = at.parent / "once"
        published = (once / _ADDRESS).read_text()
        return [word.format(at=at, once=once, published=published) for word in shlex.split(line)]

    def prepare(self, at: Path) -> None:
        """Copy the inputs of the command to a folder, and create a folder for scratch files."""
        (at / "tmp").mkdir(parents=True, exist_ok=True)
        for entry in self.inputs.split():
            what, _, where = entry.partition(":")
            source = at.parent / "once" / what
            if source.is_dir():
                shutil.copytree(source, at / where)
            else:
                shutil.copyfile(source, at / where)


COMMANDS = {
    "ingest": Command("ingest philly {once}/raw {at}/out", rerun="--force"),
    "ingest --force": Command("ingest philly {once}/raw {at}/out --force", "other:out"),
    "ingest --append": Command("ingest slurm {once}/sacct2.txt {at}/out --append", "slurm:out"),
    "simulate": Command("simulate {once}/trace fifo {at}/out", rerun="--force"),
    "simulate --force": Command("simulate {once}/trace fifo {at}/out --force", "other:out"),
    "stored relations": Command(
        "query {at}/out 'select count(*) from gpu_use, waits, wait_causes'",
        "trace:out",
        read_only=True,
    ),
    "report": Command("report {at}/out --out {at}/reports", "trace:out"),
    "report again": Command("report {at}/out --out {at}/reports", "answered:out page:reports/out"),
    "sample": Command("sample philly-attempts {at}/out --jobs 60", rerun="--force"),
    "sample --force": Command("sample philly-attempts {at}/out --jobs 60 --force", "trace:out"),
    "export": Command("export {once}/trace swf {at}/jobs.swf", rerun="--force"),
    "export --force": Command(
        "export {once}/trace swf {at}/jobs.swf --force",
        "other.swf:jobs.swf other.swf.json:jobs.swf.json",
    ),
    "export a folder": Command(
        "export {once}/trace philly {at}/raw --force", "raw-other:raw raw-other.json:raw.json"
    ),
    "fit": Command("fit {once}/trace {at}/model.json", "other.json:model.json"),
    "analyze --out": Command("analyze {at}/out job_status run_time --out {at}/csv", "trace:out"),
    "compare --out": Command(
        "compare {at}/out {once}/other --out {at}/page", "trace:out compared:page"
    ),
    "sweep": Command(
        "sweep {once}/trace --policies fifo --policies sjf --out {at}/sweep --gpus 32"
    ),
    "atlas --out": Command("atlas {at}/out --out {at}/atlas", "trace:out"),
    "experiment": Command(
        "experiment amoeba --model {once}/other --seeds 1 --out {at}/pages --jobs 2"
    ),
    "fetch": Command("fetch mine {at}/out --url {published}"),
}
"""Commands by name; the campaign kills the first eight a hundred times each."""
CAMPAIGN = tuple(COMMANDS)[:8]


@dataclass(frozen=True)
class Ended:
    """The exit status of a command, negative after a signal, and its standard error."""

    status: int
    stderr: str

    @property
    def explained(self) -> bool:
        """The command succeeded, or failed with a message and without a traceback."""
        message = _MESSAGE.search(self.stderr) and "Traceback (most" not in self.stderr
        return self.status == 0 or (self.status == 1 and bool(message))


class Running:
    """A running command in a process group of its own."""

    def __init__(
        self, words: list[str], scratch: Path, limits: Mapping[int, int] | None = None
    ) -> None:
        self._pipe, other = FORKED.Pipe(duplex=False)
        self._process: BaseProcess = FORKED.Process(
            target=_philly, args=(words, str(scratch), other, dict(limits or {}))
        )
        self._process.start()
        other.close()

    def wait(self) -> Ended:
        """Wait for the end of the command."""
        self._process.join(_PATIENCE_S)
        if self._process.exitcode is None:
            self.kill()
            raise AssertionError("the command hangs")
        return Ended(self._process.exitcode, self._stderr())

    def kill(self) -> bool:
        """Kill the command and its children with -9; return whether it was still running."""
        ran = self._process.is_alive()
        if ran and self._process.pid:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:  # before it created its own group
                os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        with suppress(ProcessLookupError):
            for _ in range(500):  # its children may still be zombies
                os.killpg(self._process.pid or 0, 0)
                time.sleep(0.01)
        return ran and self._process.exitcode == -signal.SIGKILL

    def _stderr(self) -> str:
        stderr = b""
        while self._pipe.poll():
            try:
                stderr += os.read(self._pipe.fileno(), 1 << 16) or self._pipe.recv_bytes()
            except EOFError:
                break
        return stderr.decode(errors="replace")


def _philly(words: list[str], scratch: str, stderr: Connection, limits: dict[int, int]) -> None:
    """Run the command in a forked process."""
    from philly_analysis.cli import main

    os.setsid()
    os.environ["TMPDIR"], tempfile.tempdir = scratch, None
    os.chdir(scratch)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 1)
    os.dup2(stderr.fileno(), 2)
    stderr.close()
    sys.argv = ["philly", *words]
    register(words)
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, resource.RLIM_INFINITY))
    try:
        main()
    finally:
        atexit._run_exitfuncs()  # a forked process does not run them


def run_fresh(
    words: list[str],
    scratch: Path,
    memory: int = resource.RLIM_INFINITY,
    first: Callable[[], None] | None = None,
) -> Ended:
    """Run a command in a new interpreter, with a limit on its address space.

    Parameters
    ----------
    first
        Function to call in the new process before the command starts.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.dataset_server", str(memory), *words],
        cwd=scratch,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "TMPDIR": str(scratch), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        timeout=_PATIENCE_S,
        preexec_fn=first,
    )
    return Ended(done.returncode, done.stderr.decode(errors="replace"))


def finish(words: list[str], scratch: Path) -> None:
    """Run a command, which must succeed."""
    ended = Running(words, scratch).wait()
    assert ended.status == 0, f"{' '.join(words)}: {ended.stderr[-1500:] or ended.status}"


def prepare(once: Path) -> None:
    """Create the shared inputs of all rounds: small raw logs, traces, models and pages."""
    scratch = once / "tmp"
    scratch.mkdir(parents=True)
    (once / _ADDRESS).write_text(serve(once / "published"))
    made = [sys.executable, "-m", "data.sample.generator.archive", str(once / "raw")]
    made += ["--days", "2", "--jobs", "150", "--machines", "8"]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True)
    lines = ["JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList"] + [
        f"{n}|COMPLETED|2026-01-0{1 + n // 400}T00:{n % 60:02}:00|2026-01-0{1 + n // 400}T01:00:00"
        f"|2026-01-0{1 + n // 400}T02:00:00|gres/gpu=1|n{n % 5}"
        for n in range(1200)
    ]
    (once / "sacct1.txt").write_text("\n".join(lines[:600]) + "\n")
    (once / "sacct2.txt").write_text("\n".join([lines[0], *lines[500:]]) + "\n")
    for line in (
        "ingest philly {}/raw {}/trace",
        "ingest slurm {}/sacct1.txt {}/slurm",
        "sample philly-attempts {}/other --jobs 40",
        "export {}/other swf {}/other.swf",
        "export {}/other philly {}/raw-other",
        "fit {}/slurm {}/other.json",
        "report {}/other --out {}/reports",
        "compare {}/other {}/slurm --out {}/compared",
    ):
        finish(line.format(*[once] * line.count("{}")).split(), scratch)
    (once / "reports" / "other").rename(once / "page")
    shutil.copytree(once / "trace", once / "answered")
    finish(f"report {once}/answered --out {once}/reports".split(), scratch)
    for trace in ("other", "slurm"):
        shutil.rmtree(once / trace / DERIVED, ignore_errors=True)


def outcome(at: Path) -> dict[str, str]:
    """Return a digest of each output in the folder of a round, by its path.

    Raises
    ------
    PhillyError, OSError, AssertionError
        An output is incomplete.
    """
    digests: dict[str, str] = {}
    folders = [at]
    for folder in folders:  # grows in the loop
        for path in sorted(folder.iterdir()):
            name = path.relative_to(at).as_posix()
            if any(word in path.name for word in _TEMPORARY):
                continue
            if not path.is_dir():
                digests[name] = _file(path)
            elif (path / MANIFEST).exists():
                digests[name] = rows_of(path)
            elif any(path.glob("*.html")):
                digests[name] = page(path)
            elif sidecar_of(path).exists() or (path / "map.toml").exists():
                files = sorted(file for file in path.rglob("*") if file.is_file())
                digests[name] = repr({file.name: _file(file) for file in files})
            elif name != "tmp":
                folders.append(path)
    return digests


def rows_of(trace: Path) -> str:
    """Return a digest of all rows of all tables of a trace."""
    manifest = Manifest.read(recover(trace))
    digest = sha256()
    for name in sorted(n for n in manifest.files if "/" not in n):
        tables = [pq.read_table(path) for path in manifest.paths(trace, name)]
        rows = sorted(repr(row) for table in tables for row in table.to_pylist())
        assert len(rows) == manifest.rows.get(name, len(rows)), f"{name}: rows are missing"
        digest.update("\n".join([name, *rows]).encode())
    return digest.hexdigest()


def page(folder: Path) -> str:
    """Return a digest of a page's tables, and check that the page and those beside are complete."""
    pages = [file.read_text("utf-8") for file in folder.glob("*.html")]
    assert pages, f"no page: {folder}"
    assert all(text.rstrip().endswith("</html>") for text in pages), f"incomplete page: {folder}"
    tables = {path.name: path.read_text("utf-8") for path in sorted(folder.rglob("*.csv"))}
    assert tables, f"no tables: {folder}"
    return digest_of(repr(tables))


def _file(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".json" and isinstance(fields := json.loads(data), dict):
        data = repr({k: v for k, v in fields.items() if k not in _VOLATILE}).encode()
    return digest_of(data.decode(errors="replace"))


def digest_of(text: str) -> str:
    """Return a digest of a text that does not depend on rounding errors of its numbers."""
    return sha256(_FRACTION.sub(lambda n: f"{float(n[0]):.9g}", text).encode()).hexdigest()


def stored_relations(at: Path) -> dict[str, str]:
    """Return a digest of the rows of every stored relation of a round's trace."""
    digests = {}
    for folder in sorted((at / "out" / DERIVED).glob("*.parquet")):
        rows = pl.read_parquet(sorted(folder.glob("*.parquet")))
        rows = rows.with_columns(cs.float().round_sig_figs(9))  # as in `digest_of`
        text = "\n".join(sorted(map(repr, rows.iter_rows())))  # CSV has no lists
        digests[folder.name.rpartition("-")[0]] = sha256(text.encode()).hexdigest()
    return digests


def leftovers(at: Path, *, kept: bool = False) -> list[str]:
    """Return temporary files of an interrupted command: partial output, locks, spilled data.

    Parameters
    ----------
    kept
        Include partial downloads, which the next run resumes.
    """
    return [
        str(path.relative_to(at))
        for path in at.rglob("*")
        if (any(word in path.name for word in _TEMPORARY) or path.parent == at / "tmp")
        and (kept or _RESUMED not in str(path))
    ]
