"""Check that committed notebooks equal their scripts, ran to the end and show figures."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import output_of

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SCRIPTS = sorted(NOTEBOOKS.glob("[0-9]-*.py"))


def _read(file: Path) -> Any:
    import jupytext  # takes seconds

    return jupytext.read(file)


def _figures(notebook: Any) -> list[str]:
    return [
        text
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        for kind, text in output.get("data", {}).items()
        if kind == "image/png" or (kind == "text/html" and "src='data:image/png;base64," in text)
    ]


def test_there_are_seven_notebooks_with_their_scripts() -> None:
    assert len(SCRIPTS) == 7
    assert {s.stem for s in SCRIPTS} == {p.stem for p in NOTEBOOKS.glob("*.ipynb")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_a_committed_notebook_equals_its_script_and_ran_to_the_end(
    script: Path,
) -> None:
    source = _read(script)
    run = _read(script.with_suffix(".ipynb"))
    assert [(c.cell_type, c.source) for c in run.cells] == [
        (c.cell_type, c.source) for c in source.cells
    ], "the script was edited: run `make notebooks`"
    code = [cell for cell in run.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [o for cell in code for o in cell.outputs if o.output_type == "error"]
    assert len(_figures(run)) >= 2
    synthetic = "".join(cell.source for cell in run.cells if cell.cell_type == "markdown")
    assert "**synthetic**" in synthetic


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_a_notebook_runs_on_a_copy(script: Path, tmp_path: Path) -> None:
    """Run a copy, so that the committed notebook does not change."""
    sample = NOTEBOOKS.parent / "data" / "traces" / "sample"
    if not (sample / "manifest.json").is_file():
        pytest.skip("the sample was not ingested here: `make reports` does")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for file in (script, NOTEBOOKS / "make.py"):
        (folder / file.name).write_bytes(file.read_bytes())
    (tmp_path / "data" / "traces").mkdir(parents=True)
    (tmp_path / "data" / "traces" / "sample").symlink_to(sample)
    output_of(sys.executable, "make.py", script.name, cwd=folder)
    assert len(_figures(_read(folder / f"{script.stem}.ipynb"))) >= 2
