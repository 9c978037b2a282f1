"""Run every notebook from top to bottom and keep what it shows: ``python notebooks/make.py``.

The scripts are what people edit; each becomes the ``.ipynb`` of its name, executed, for readers
and for sites that render notebooks. Cells are numbered rather than named at random, and say no
times, so that a notebook that shows the same is the same file.
"""

import argparse
import sys
from pathlib import Path

import jupytext
from nbclient import NotebookClient
from nbformat import NotebookNode

HERE = Path(__file__).parent
LONGEST_CELL_S = 600


def scripts() -> list[Path]:
    """Return the notebooks' scripts, in their order."""
    return sorted(HERE.glob("[0-9]-*.py"))


def read(script: Path) -> NotebookNode:
    """Return a script as a notebook that nobody has run."""
    notebook: NotebookNode = jupytext.read(script)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"
    return notebook


def execute(script: Path) -> Path:
    """Run a script as a notebook, beside which it is written, and return where.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell fails; nothing is written.
    """
    notebook = read(script)
    NotebookClient(
        notebook,
        timeout=LONGEST_CELL_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(HERE)}},
        record_timing=False,
    ).execute()
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if "outputs" in cell:  # an empty one is where progress was shown
            cell.outputs = [o for o in cell.outputs if o.get("data", {}).get("text/plain") != "\n"]
    made = script.with_suffix(".ipynb")
    jupytext.write(notebook, made)
    return made


def main() -> int:
    """Execute the notebooks asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", nargs="*", type=Path, help="which; none: all")
    for script in parser.parse_args().script or scripts():
        print(f"== {execute(script)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
