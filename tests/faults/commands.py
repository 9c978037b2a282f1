"""Commands that write, on a small trace: input, call, and check of the output."""

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
from philly_analysis.exports.sidecar_writer import sidecar_of
from philly_analysis.trace.manifest import DERIVED, MANIFEST, Manifest
from tests.faults.published import know, publish

ROOT = Path(__file__).parents[2]
_VOLATILE = ("made_at", "file", "run_with")
_GOES_ON = ".fetching"
_LEFT = (".partial", ".old-", ".lock-", "ingest-", ".part", _GOES_ON)
_SAID = re.compile(r"^philly: .+", re.MULTILINE)
_PATIENCE_S = 3600
_ADDRESS = "address"
_FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
FORKED = multiprocessing.get_context("forkserver")
# a command is forked from a process that has loaded the package, so that faults meet its work
FORKED.set_forkserver_preload(["philly_analysis.api", "philly_analysis.ingest.build"])


@dataclass(frozen=True)
class Command:
    """A command that is disturbed.

    Attributes
    ----------
    typed
        What is typed; ``{at}`` is the folder of a round, ``{once}`` of what is prepared once,
        ``{published}`` the address of what is published.
    finds
        Which of the things prepared stands where in the folder, ``trace:out``, by spaces.
    again
        What is added to type it once more when it has done its work.
    reads
        It only reads, and writes only what can be computed again.
    """

    typed: str
    finds: str = ""
    again: str = ""
    reads: bool = False

    def words(self, at: Path, *, done: bool = False) -> list[str]:
        """Return what is typed in the folder of a round; `done`: it has its outcome already."""
        typed = f"{self.typed} {self.again}" if done else self.typed
        once = at.parent / "once"
        published = (once / _ADDRESS).read_text()
        return [word.format(at=at, once=once, published=published) for word in shlex.split(typed)]

    def prepare(self, at: Path) -> None:
        """Lay there what the command finds, and a place for scratch."""
        (at / "tmp").mkdir(parents=True, exist_ok=True)
        for found in self.finds.split():
            what, _, where = found.partition(":")
            source = at.parent / "once" / what
            if source.is_dir():
                shutil.copytree(source, at / where)
            else:
                shutil.copyfile(source, at / where)


COMMANDS = {
    "ingest": Command("ingest philly {once}/raw {at}/out", again="--force"),
    "ingest --force": Command("ingest philly {once}/raw {at}/out --force", "other:out"),
    "ingest --append": Command("ingest slurm {once}/sacct2.txt {at}/out --append", "slurm:out"),
    "simulate": Command("simulate {once}/trace fifo {at}/out", again="--force"),
    "simulate --force": Command("simulate {once}/trace fifo {at}/out --force", "other:out"),
    "stored relations": Command(
        "query {at}/out 'select count(*) from gpu_use, waits, wait_causes'", "trace:out", reads=True
    ),
    "report": Command("report {at}/out --out {at}/reports", "trace:out"),
    "report again": Command("report {at}/out --out {at}/reports", "answered:out page:reports/out"),
    "sample": Command("sample philly-attempts {at}/out --jobs 60", again="--force"),
    "sample --force": Command("sample philly-attempts {at}/out --jobs 60 --force", "trace:out"),
    "export": Command("export {once}/trace swf {at}/jobs.swf", again="--force"),
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
"""The first eight are those of the campaign: a hundred kills of each."""
CAMPAIGN = tuple(COMMANDS)[:8]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, negative by a signal, and what it said of errors."""

    status: int
    said: str

    @property
    def clear(self) -> bool:
        """It did what was asked, or said why not, whatever libraries said besides."""
        said = _SAID.search(self.said) and "Traceback (most" not in self.said
        return self.status == 0 or (self.status == 1 and bool(said))


class Running:
    """A command that was started, in a process group of its own."""

    def __init__(
        self, words: list[str], scratch: Path, limits: Mapping[int, int] | None = None
    ) -> None:
        self._said, other = FORKED.Pipe(duplex=False)
        self._process: BaseProcess = FORKED.Process(
            target=_philly, args=(words, str(scratch), other, dict(limits or {}))
        )
        self._process.start()
        other.close()

    def wait(self) -> Ended:
        """Wait until it has ended."""
        self._process.join(_PATIENCE_S)
        if self._process.exitcode is None:
            self.kill()
            raise AssertionError("it hangs")
        return Ended(self._process.exitcode, self._heard())

    def kill(self) -> bool:
        """Kill it and its children with -9; tell whether it was still running."""
        ran = self._process.is_alive()
        if ran and self._process.pid:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has no group of its own yet
                os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        with suppress(ProcessLookupError):
            for _ in range(500):  # its children are dead, and gone a moment later
                os.killpg(self._process.pid or 0, 0)
                time.sleep(0.01)
        return ran and self._process.exitcode == -signal.SIGKILL

    def _heard(self) -> str:
        said = b""
        while self._said.poll():
            try:
                said += os.read(self._said.fileno(), 1 << 16) or self._said.recv_bytes()
            except EOFError:
                break
        return said.decode(errors="replace")


def _philly(words: list[str], scratch: str, said: Connection, limits: dict[int, int]) -> None:
    """Be the command, in a process that was forked for it."""
    from philly_analysis.cli import main

    os.setsid()
    os.environ["TMPDIR"], tempfile.tempdir = scratch, None
    os.chdir(scratch)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 1)
    os.dup2(said.fileno(), 2)
    said.close()
    sys.argv = ["philly", *words]
    know(words)
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, resource.RLIM_INFINITY))
    try:
        main()
    finally:
        atexit._run_exitfuncs()  # as a process does that was not forked


def typed(
    words: list[str],
    scratch: Path,
    memory: int = resource.RLIM_INFINITY,
    first: Callable[[], None] | None = None,
) -> Ended:
    """Run a command to its end with so many bytes, as one that is typed: it has yet to load.

    Parameters
    ----------
    first
        What its process does before it becomes the command.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.published", str(memory), *words],
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
    """Run a command to its end.

    Raises
    ------
    AssertionError
        It fails.
    """
    ended = Running(words, scratch).wait()
    assert ended.status == 0, f"{' '.join(words)}: {ended.said[-1500:] or ended.status}"


def prepare(once: Path) -> None:
    """Make what the rounds start from: small raw logs, traces of them, and what else stands."""
    scratch = once / "tmp"
    scratch.mkdir(parents=True)
    (once / _ADDRESS).write_text(publish(once / "published"))
    made = [sys.executable, "data/generate.py", str(once / "raw"), "--days", "2", "--jobs", "150"]
    subprocess.run([*made, "--machines", "8"], cwd=ROOT, check=True, capture_output=True)
    lines = ["JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList"] + [
        f"{n}|COMPLETED|2026-01-0{1 + n // 400}T00:{n % 60:02}:00|2026-01-0{1 + n // 400}T01:00:00"
        f"|2026-01-0{1 + n // 400}T02:00:00|gres/gpu=1|n{n % 5}"
        for n in range(1200)
    ]
    (once / "sacct1.txt").write_text("\n".join(lines[:600]) + "\n")
    (once / "sacct2.txt").write_text("\n".join([lines[0], *lines[500:]]) + "\n")
    for typed in (
        "ingest philly {}/raw {}/trace",
        "ingest slurm {}/sacct1.txt {}/slurm",
        "sample philly-attempts {}/other --jobs 40",
        "export {}/other swf {}/other.swf",
        "export {}/other philly {}/raw-other",
        "fit {}/slurm {}/other.json",
        "report {}/other --out {}/reports",
        "compare {}/other {}/slurm --out {}/compared",
    ):
        finish(typed.format(*[once] * typed.count("{}")).split(), scratch)
    (once / "reports" / "other").rename(once / "page")
    shutil.copytree(once / "trace", once / "answered")
    finish(f"report {once}/answered --out {once}/reports".split(), scratch)
    for trace in ("other", "slurm"):
        shutil.rmtree(once / trace / DERIVED, ignore_errors=True)


def outcome(at: Path) -> dict[str, str]:
    """Return what stands in the folder of a round, each thing that appears whole by its path.

    Raises
    ------
    PhillyError, OSError, AssertionError
        Something is not whole.
    """
    found: dict[str, str] = {}
    folders = [at]
    for folder in folders:  # grows while it is walked
        for path in sorted(folder.iterdir()):
            name = path.relative_to(at).as_posix()
            if any(word in path.name for word in _LEFT):
                continue
            if not path.is_dir():
                found[name] = _file(path)
            elif (path / MANIFEST).exists():
                found[name] = rows_of(path)
            elif any(path.glob("*.html")):
                found[name] = page(path)
            elif sidecar_of(path).exists() or (path / "map.toml").exists():
                told = {
                    file.name: _file(file) for file in sorted(path.rglob("*")) if file.is_file()
                }
                found[name] = repr(told)
            elif name != "tmp":
                folders.append(path)
    return found


def rows_of(trace: Path) -> str:
    """Return a digest of all rows of all tables of a trace."""
    manifest = Manifest.read(recover(trace))
    told = sha256()
    for name in sorted(n for n in manifest.files if "/" not in n):
        tables = [pq.read_table(path) for path in manifest.paths(trace, name)]
        rows = sorted(repr(row) for table in tables for row in table.to_pylist())
        assert len(rows) == manifest.rows.get(name, len(rows)), f"{name}: rows are missing"
        told.update("\n".join([name, *rows]).encode())
    return told.hexdigest()


def page(folder: Path) -> str:
    """Return a digest of a page's tables; it ends, and each table that it links to is there."""
    [file] = folder.glob("*.html")
    text = file.read_text("utf-8")
    assert text.rstrip().endswith("</html>"), f"half a page: {folder}"
    tables = {path.name: path.read_text("utf-8") for path in sorted(folder.rglob("*.csv"))}
    assert tables, f"no tables: {folder}"
    return digest_of(repr(tables))


def _file(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".json" and isinstance(told := json.loads(data), dict):
        data = repr({k: v for k, v in told.items() if k not in _VOLATILE}).encode()
    return digest_of(data.decode(errors="replace"))


def digest_of(text: str) -> str:
    """Return a digest of a text, whatever order its numbers were added up in."""
    return sha256(_FRACTION.sub(lambda n: f"{float(n[0]):.9g}", text).encode()).hexdigest()


def derived(at: Path) -> dict[str, str]:
    """Read every stored relation of a round's trace, and return digests of their rows."""
    told = {}
    for folder in sorted((at / "out" / DERIVED).glob("*.parquet")):
        rows = pl.read_parquet(sorted(folder.glob("*.parquet")))
        rows = rows.with_columns(cs.float().round_sig_figs(9))  # as `digest_of`, of many rows
        text = rows.sort(rows.columns).write_csv()
        told[folder.name.rpartition("-")[0]] = sha256(text.encode()).hexdigest()
    return told


def left_behind(at: Path, *, kept: bool = False) -> list[str]:
    """Return what a command that was broken off can have left: half of things, locks, spill.

    Parameters
    ----------
    kept
        Also what it keeps for the next time, to go on with.
    """
    return [
        str(path.relative_to(at))
        for path in at.rglob("*")
        if (any(word in path.name for word in _LEFT) or path.parent == at / "tmp")
        and (kept or _GOES_ON not in str(path))
    ]
