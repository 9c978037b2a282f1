"""Run the commands and code of the README and the pages of docs/."""

import re
import shlex
import shutil
import tarfile
import tomllib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from textwrap import dedent

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from philly_analysis import Trace, fit, ingest
from philly_analysis.cli import app
from philly_analysis.simulator.policies import user_policy
from philly_analysis.trace.manifest import Manifest
from tests.exports.consumers import throughput_json
from tests.ingest import accounting_logs, kueue_cluster, kueue_snapshots
from tests.ingest.test_accounting import COMPLEX
from tests.ingest.test_slurm import LINES, write
from tests.support.repository import PAGES, ROOT

TEXTS = {page.stem: page.read_text("utf-8") for page in (ROOT / "README.md", *sorted(PAGES))}
README = "\n".join(TEXTS.values())
SHORTER = {
    "--jobs 100000": "--jobs 300",
    "--days 30": "--days 1 --force",
    "--seeds 10 --jobs 2": "--seeds 2 --draw 60",
    "--seeds 10 --cluster": "--seeds 2 --draw 60 --cluster",
    "s3://": "memory://",
    "advise ours/": "advise philly/",  # three jobs are too few
    "ours/ slurm": "philly/ slurm",
    "/var/lib/prometheus/node-exporter/": "",
}
"""Replacements in commands; the second sample replaces the first."""
LONG = ("philly experiment", "philly experiment conclusions --jobs 2")
"""Commands that take half an hour, which the test skips."""


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def lines(program: str, text: str = README) -> list[str]:
    """Return the command lines of a program, without their comments."""
    typed = [line for block in blocks("sh", text) for line in re.split(r"\n(?=\S)", block)]
    words_typed = [shlex.split(line, comments=True) for line in typed]
    plain = [shlex.join(line[: line.index(">")] if ">" in line else line) for line in words_typed]
    return [line for line in plain if line.split(" ")[0] == program]


def words(line: str) -> Iterator[str]:
    """Yield a command's words, with file patterns expanded as a shell does."""
    for word in shlex.split(line)[1:]:
        matches = sorted(map(str, Path().glob(word))) if "*" in word else []
        yield from matches or [word]


@pytest.mark.parametrize("line", lines("philly"))
def test_each_command_parses(line: str) -> None:
    verb, *rest = shlex.split(line)[1:]
    verbs = get_command(app)
    assert isinstance(verbs, TyperGroup)
    assert verb in verbs.commands
    verbs.commands[verb].make_context(verb, rest)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(ROOT / "data" / "sample")
    with tarfile.open(tmp_path / "trace-data.tar.gz", "w:gz") as packed:
        packed.add(ROOT / "data" / "sample", "trace-data")
    write(tmp_path, *LINES).rename("sacct-2026-01.txt")
    shutil.copy("sacct-2026-01.txt", "sacct.txt")
    for name in ("csv", "toml"):
        [example] = blocks(name, TEXTS["own-format"])
        (tmp_path / f"queue.{name}").write_text(example)
    (tmp_path / "telemetry").mkdir()
    (tmp_path / "telemetry" / "g1.csv").write_text(
        "timestamp, index, utilization.gpu [%]\n2026/01/01 01:10:00.123, 0, 45 %\n"
    )
    for name in ("slurm-7.out", "job.log", "other.log"):
        (tmp_path / name).write_text("RuntimeError: CUDA out of memory\n")
    throughput_json(tmp_path / "simulation_throughputs.json")
    guide = dedent(user_policy.__doc__.split("::\n\n")[1].split("\n\n``docs/")[0])
    (tmp_path / "mine.py").write_text(guide.replace("LargestFirst", "Mine"))
    return tmp_path


@pytest.fixture
def logs(workplace: Path) -> None:
    """Write logs and settings of schedulers, as the pages name their folders."""
    for name in ("collected", "settings", "pbs-logs", "lsf-logs", "ge-logs"):
        (workplace / name).mkdir()
    shutil.copy("sacct.txt", "collected")
    (workplace / "settings" / "config.txt").write_text(
        "Configuration data as of 2026-01-01T00:00:00\nSchedulerType = sched/backfill\n"
    )
    runs = accounting_logs.fortnight(seed=5, jobs=60)
    (workplace / "pbs-logs" / "20260202").write_text(accounting_logs.pbs(runs))
    (workplace / "lsf-logs" / "lsb.acct").write_text(accounting_logs.lsf(runs))
    (workplace / "ge-logs" / "accounting").write_text(accounting_logs.grid_engine(runs, 1))
    (workplace / "ge-logs" / "complexes").write_text(COMPLEX)
    cluster = kueue_cluster.simulated(seed=5, jobs=20, days=2)
    kueue_snapshots.write(workplace / "snapshots", cluster, 1_800)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the traces and the model that pages use without making them."""
    folder = tmp_path_factory.mktemp("made")
    ingest("philly", ROOT / "data" / "sample", folder / "philly")
    ingest("slurm", write(folder, *LINES), folder / "ours")
    fit(folder / "philly", folder / "model.json")
    return folder


@pytest.fixture
def traces(workplace: Path, made: Path) -> None:
    """Name the traces and the model as pages do."""
    for name in ("philly", "ours", "model.json"):
        (workplace / name).symlink_to(made / name)
    (workplace / "my-trace").symlink_to(made / "philly")


def make_way(source: str, out: Path, *, adds: bool) -> None:
    """Remove a trace in the way of an ingest: each page makes its own."""
    if out.exists() and not (adds and Manifest.read(out).source == source):
        if out.is_symlink():
            out.unlink()
        else:
            shutil.rmtree(out)


@pytest.fixture
def cluster() -> Iterator[str]:
    """Yield the address of a Dask cluster."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as run:
        yield run.scheduler_address


@pytest.mark.slow
@pytest.mark.usefixtures("logs", "traces")
@pytest.mark.parametrize("page", [page for page, text in TEXTS.items() if lines("philly", text)])
def test_the_commands_of_a_page_run_in_order(
    page: str, workplace: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHILLY_CACHE", str(workplace / "cache"))
    for line in lines("philly", TEXTS[page]):
        if line in LONG or "fetch" in line:  # the latter needs a network
            continue
        for long, short in SHORTER.items():
            line = line.replace(long, short)
        if "tcp://head:8786" in line:
            line = line.replace("tcp://head:8786", request.getfixturevalue("cluster"))
        typed = list(words(line))
        if typed[0] == "ingest":
            adds = bool({"--append", "--force"} & {*typed})
            make_way(typed[1], Path(typed[3]), adds=adds)
        result = CliRunner().invoke(app, typed)
        assert result.exit_code == 0, f"{line}: {result.exception!r}\n{result.stderr}"


def test_the_example_map_reads_the_example_table(workplace: Path) -> None:
    manifest = ingest("table", "queue.csv", "lab").manifest
    read = {a.table: (a.read, a.kept) for a in manifest.accounts}
    assert read == {"jobs": (3, 3), "attempts": (3, 3)}
    with Trace(workplace / "lab") as trace:
        jobs = trace.sql(
            "select job_id, jobs.gpus, vc, status, submitted_at, started_at, ended_at "
            "from jobs join attempts using (job_id) order by job_id"
        ).fetchall()

    def at(minutes: float) -> datetime:
        return datetime(2026, 3, 2, 8) + timedelta(minutes=minutes)  # Berlin is an hour ahead

    assert jobs == [
        ("17", 8, "vision", "Pass", at(15), at(27.5), at(507.5)),
        ("18", 16, "speech", "Failed", at(20), at(20), at(35)),
        ("19", 32, "vision", "Killed", at(31), None, None),
    ]
    assert len(blocks("toml")[0].splitlines()) <= 60


@pytest.mark.slow
@pytest.mark.usefixtures("traces")
@pytest.mark.parametrize("page", [page for page, text in TEXTS.items() if blocks("python", text)])
def test_the_python_code_of_a_page_runs(page: str) -> None:
    Path("data/traces").mkdir()
    Path("data/traces/sample").symlink_to(Path("philly").resolve())
    Path("philly-demo").symlink_to("data/traces")
    names: dict[str, object] = {}
    for block in blocks("python", TEXTS[page]):
        exec(compile(block, page, "exec"), names)  # noqa: S102 - our own pages


def test_targets_and_variables_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    variables = set(re.findall(r"^([A-Z]+) +\?=", makefile, re.MULTILINE))
    named = [*lines("make"), *re.findall(r"`(make [^`]+)`", README)]
    assert named
    for line in named:
        for word in shlex.split(line)[1:]:
            name, equals, _ = word.partition("=")
            assert name in (variables if equals else targets), line


def test_paths_and_extras_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(re.findall(r"\.\[(\w+)\]", README)) <= set(extras["optional-dependencies"])
    paths = re.findall(r"`((?:philly_analysis|data|notebooks|[A-Z]+)[/.][^`<*]*)[`<]", README)
    assert len(paths) > 10
    assert [p for p in paths if not (ROOT / p).exists()] == []


def test_versions_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert version in (ROOT / "CHANGELOG.md").read_text("utf-8")
