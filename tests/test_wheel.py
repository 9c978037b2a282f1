"""Build and install the wheel and the source distribution; check their files and the demo."""

import shutil
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.command_line import output_of
from tests.support.repository import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return folders with the installed wheel and source distribution."""
    built = tmp_path_factory.mktemp("built")
    names = {}
    for kind, pattern in {"wheel": "*.whl", "sdist": "*.tar.gz"}.items():
        output_of(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", built, cwd=ROOT)
        [file] = built.glob(pattern)
        names[kind] = built / kind
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        output_of(*pip, "--no-build-isolation", "--target", names[kind], file, cwd=built)
    return names


@pytest.fixture(scope="module")
def place(installed: dict[str, Path]) -> Path:
    return installed["wheel"]


def philly(place: Path, folder: Path, *words: str) -> str:
    call = "from philly_analysis.cli import main; main()"
    return output_of(sys.executable, "-c", call, *words, cwd=folder, PYTHONPATH=str(place))


@pytest.mark.slow
def test_the_wheel_contains_every_file_of_the_package(place: Path) -> None:
    suffixes = {".js", ".py", ".typed", ".sql", ".toml", ".yaml", ".csv", ".json", ".html", ".md"}
    ours = {
        path.relative_to(ROOT)
        for path in (ROOT / "philly_analysis").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {path.suffix for path in ours} <= suffixes | {""}
    assert [path for path in ours if not (place / path).is_file()] == []
    assert (place / "philly_analysis" / "sample" / "SYNTHETIC.md").is_file()


@pytest.mark.slow
def test_wheel_and_source_distribution_install_the_same_files(installed: dict[str, Path]) -> None:
    files = {kind: contents(place / "philly_analysis") for kind, place in installed.items()}
    assert files["wheel"] == files["sdist"]


def contents(folder: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


@pytest.mark.parametrize("lock", ["highest", "lowest"])
def test_each_requirement_is_locked(lock: str) -> None:
    text = (ROOT / ".ci" / f"{lock}.txt").read_text("utf-8")
    pinned = {Requirement(line).name for line in text.splitlines()}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project, builds = declared["project"], declared["build-system"]["requires"]
    extras = project["optional-dependencies"].values()
    wanted = map(Requirement, chain(project["dependencies"], *extras, builds))
    assert [need.name for need in wanted if need.name not in pinned] == []


@pytest.mark.slow
def test_the_installed_package_runs(place: Path, tmp_path: Path) -> None:
    call = "import philly_analysis; print(philly_analysis.__file__)"
    location = output_of(sys.executable, "-c", call, cwd=tmp_path, PYTHONPATH=str(place))
    assert Path(location.strip()).is_relative_to(place)
    assert "literature" in philly(place, tmp_path, "models", "--csv")


@pytest.mark.slow
def test_mypy_checks_a_users_file_against_the_installed_package(
    place: Path, tmp_path: Path
) -> None:
    file = shutil.copy(ROOT / "tests" / "user_types.py", tmp_path)
    strict = (sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", file)
    assert "Success" in output_of(*strict, cwd=tmp_path, PYTHONPATH=str(place))


@pytest.mark.slow
def test_the_demo_writes_a_page(place: Path, tmp_path: Path) -> None:
    philly(place, tmp_path, "demo")
    [page] = tmp_path.rglob("report.html")
    assert "synthetic" in page.read_text("utf-8")
