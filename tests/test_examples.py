"""Run every example of a docstring and of ``--help``, beside traces and the output of ``sacct``."""

import doctest
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import philly_analysis
from philly_analysis import api
from philly_analysis.cli.what_ifs import COMMANDS
from tests.support.command_line import output_of, run
from tests.support.repository import ROOT

SACCT = """\
JobIDRaw|Cluster|Partition|User|State|ExitCode|Submit|Start|End|AllocTRES|NodeList
1|lab|gpu|ann|COMPLETED|0:0|2026-01-05T09:00:00|2026-01-05T09:01:00|2026-01-05T11:01:00|gres/gpu=8,node=1|n1
2|lab|gpu|bob|FAILED|1:0|2026-01-05T09:30:00|2026-01-05T11:01:00|2026-01-05T11:02:00|gres/gpu=8,node=1|n1
3|lab|gpu|ann|COMPLETED|0:0|2026-01-05T10:00:00|2026-01-05T10:00:05|2026-01-05T10:30:00|gres/gpu=1,node=1|n2
"""


def _examples() -> Iterator[doctest.DocTest]:
    names = pkgutil.walk_packages(philly_analysis.__path__, "philly_analysis.")
    modules = [philly_analysis, *(import_module(n.name) for n in names if "__main__" not in n.name)]
    public = {name: getattr(philly_analysis, name) for name in philly_analysis.__all__}
    for module in modules:
        if ">>> " in Path(str(module.__file__)).read_text("utf-8"):
            tests = doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=public)
            yield from (test for test in tests if test.examples)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("examples")
    model = philly_analysis.load_model("philly")
    model.save(folder / "model.json")
    jobs = model.sample(300, days=3, seed=1)
    for name, policy in {"my-trace": "fifo", "what-if": "srtf"}.items():
        philly_analysis.simulate(jobs, policy, folder / name, cluster=64).close()
    (folder / "job.log").write_text("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")
    (folder / "sacct.txt").write_text(SACCT)
    return folder


NOT_RUN = {"fetch": "the network", "experiment": "many minutes"}
SLOW = {
    "advise",
    "analyze",
    "atlas",
    "compare",
    "demo",
    "fit",
    "forecast",
    "report",
    "summary",
    "sweep",
}


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(e, marks=[pytest.mark.slow] * (e.name.rpartition(".")[2] in SLOW), id=e.name)
        for e in _examples()
    ],
)
def test_examples_give_what_they_show(
    example: doctest.DocTest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    failed, tried = doctest.DocTestRunner().run(example)
    assert tried and not failed


TYPED = [
    pytest.param(verb.__name__, line, marks=[pytest.mark.slow] * (verb.__name__ in SLOW))
    for verb in api.VERBS
    for line in re.findall(
        r"^ +(philly .*)$", COMMANDS.get(verb.__name__, verb).__doc__ or "", re.MULTILINE
    )
]


def test_each_verb_has_an_example() -> None:
    assert {case.values[0] for case in TYPED} == {verb.__name__ for verb in api.VERBS}


@pytest.mark.parametrize(("verb", "line"), TYPED)
def test_the_help_has_the_example_and_it_runs(
    verb: str, line: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    philly, *words = shlex.split(line)
    assert philly == "philly"
    assert f"\n  {line}\n" in run(words[0], "--help")
    if verb in NOT_RUN or "--fetch" in words:
        return
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    assert run(*words)


@pytest.mark.slow
def test_a_researchers_script_runs_on_the_sample(tmp_path: Path) -> None:
    sample = ROOT / "data" / "traces" / "sample"
    if not (sample / "manifest.json").is_file():
        pytest.skip("the sample was not ingested here: `make reports` does")
    script = ROOT / "tests" / "user_script.py"
    assert len(script.read_text("utf-8").splitlines()) <= 32
    printed = output_of(sys.executable, script, sample, cwd=tmp_path)
    assert re.search(r"\d+ to \d+ jobs a month", printed) and "srtf" in printed
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
