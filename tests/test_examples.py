"""Run every example of a docstring, beside a trace and the output of ``sacct``."""

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import philly_analysis

SACCT = """\
JobIDRaw|Cluster|Partition|User|State|ExitCode|Submit|Start|End|AllocTRES|NodeList
1|lab|gpu|ann|COMPLETED|0:0|2026-01-05T09:00:00|2026-01-05T09:01:00|2026-01-05T11:01:00|gres/gpu=8,node=1|n1
2|lab|gpu|bob|FAILED|1:0|2026-01-05T09:30:00|2026-01-05T11:01:00|2026-01-05T11:02:00|gres/gpu=8,node=1|n1
3|lab|gpu|ann|COMPLETED|0:0|2026-01-05T10:00:00|2026-01-05T10:00:05|2026-01-05T10:30:00|gres/gpu=1,node=1|n2
"""


def _modules() -> list[ModuleType]:
    names = pkgutil.walk_packages(philly_analysis.__path__, "philly_analysis.")
    found = [philly_analysis, *(import_module(n.name) for n in names if "__main__" not in n.name)]
    return [m for m in found if ">>> " in Path(str(m.__file__)).read_text("utf-8")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ``my-trace`` and ``sacct.txt``."""
    folder = tmp_path_factory.mktemp("examples")
    jobs = philly_analysis.load_model("philly").sample(300, seed=1)
    philly_analysis.simulate(jobs, "fifo", folder / "my-trace", gpus=64).close()
    (folder / "sacct.txt").write_text(SACCT)
    return folder


@pytest.mark.parametrize("module", _modules(), ids=lambda m: m.__name__)
def test_examples_give_what_they_show(
    module: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    failed, tried = doctest.testmod(module)
    assert tried and not failed
