"""What is built for others to install works in a place of its own, and has all that it needs."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is installed that the source distribution builds."""
    built = tmp_path_factory.mktemp("built")
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", built], ROOT)
    with tarfile.open(next(built.glob("*.tar.gz"))) as sources:
        sources.extractall(built, filter="data")
    [unpacked] = (path for path in built.iterdir() if path.is_dir())
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], unpacked)
    target = built / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    run([*install, "--target", target, next(built.glob("*.whl"))], built)
    return target


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
    call = "from philly_analysis.cli import main; main()"
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
