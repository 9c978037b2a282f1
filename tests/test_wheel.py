"""What is built for others to install works in a place of its own, and has all that it needs."""

import os
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders into which the wheel and the source distribution are installed, by what it is."""
    built = tmp_path_factory.mktemp("built")
    found = {}
    for kind, pattern in {"wheel": "*.whl", "sdist": "*.tar.gz"}.items():
        run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", built], ROOT)
        [file] = built.glob(pattern)
        found[kind] = built / kind
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        run([*pip, "--no-build-isolation", "--target", found[kind], file], built)
    return found


@pytest.fixture(scope="module")
def place(places: dict[str, Path]) -> Path:
    return places["wheel"]


def run(words: list[str | Path], folder: Path, **variables: str) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def philly(place: Path, folder: Path, *words: str) -> str:
    call = "from philly_analysis.cli.app import main; main()"
    return run([sys.executable, "-c", call, *words], folder, PYTHONPATH=str(place))


def test_every_file_that_the_package_reads_is_in_it(place: Path) -> None:
    kept = {".js", ".py", ".typed", ".sql", ".toml", ".csv", ".json", ".html", ".md"}
    ours = {
        path.relative_to(ROOT)
        for path in (ROOT / "philly_analysis").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {path.suffix for path in ours} <= kept | {""}
    assert [path for path in ours if not (place / path).is_file()] == []
    assert (place / "philly_analysis" / "sample" / "SYNTHETIC.md").is_file()


def test_both_ways_of_installing_it_give_the_same(places: dict[str, Path]) -> None:
    files = {kind: contents(place / "philly_analysis") for kind, place in places.items()}
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


def test_it_runs_where_it_was_installed(place: Path, tmp_path: Path) -> None:
    where = run(
        [sys.executable, "-c", "import philly_analysis; print(philly_analysis.__file__)"],
        tmp_path,
        PYTHONPATH=str(place),
    )
    assert Path(where.strip()).is_relative_to(place)
    assert "literature" in philly(place, tmp_path, "models", "--csv")


@pytest.mark.slow
def test_its_demo_writes_a_page(place: Path, tmp_path: Path) -> None:
    philly(place, tmp_path, "demo")
    [page] = tmp_path.rglob("report.html")
    assert "synthetic" in page.read_text("utf-8")
