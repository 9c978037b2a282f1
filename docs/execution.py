"""Execute the code of a page as a notebook, and insert what each block shows."""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbformat import NotebookNode

_LONGEST_BLOCK_S = 600
_SHELL = "%%sh\n"
"""First line of a shell block, in a notebook."""
_SETUP = """\
%env COLUMNS=110
for name in ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
    %env $name=
"""
"""Code that runs first: commands print plain text of this width."""


def execute(page: str, folder: Path) -> str:
    """Return a page with the output below each of its ``sh`` and ``python`` blocks.

    Parameters
    ----------
    page
        Text in Markdown. All blocks of code run in its order, in one session.
    folder
        Where they run.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A block fails.
    """
    import jupytext
    from nbclient import NotebookClient

    notebook = jupytext.reads(f"```python\n{_SETUP}```\n\n{page}", fmt="md")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    NotebookClient(
        notebook,
        timeout=_LONGEST_BLOCK_S,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    ).execute(env={**os.environ, "PATH": path, "MPLBACKEND": "agg"})
    return "\n\n".join(part for cell in notebook.cells[1:] for part in shown(cell)) + "\n"


def shown(cell: "NotebookNode") -> Iterator[str]:
    """Yield the parts of an executed cell in Markdown: its text, or its code and output.

    Progress is dropped: the standard error, and displays that are blank in the end.
    """
    if cell.cell_type != "code":
        yield cell.source
        return
    shell = cell.source.startswith(_SHELL)
    yield f"```{'sh' if shell else 'python'}\n{cell.source.removeprefix(_SHELL)}\n```"
    for kind, outputs in groupby(cell.outputs, lambda output: output.get("name", "display")):
        if kind == "stdout":
            yield _text("".join(output.text for output in outputs))
        elif kind == "display":
            shown = (output.data for output in outputs if output.data["text/plain"].strip())
            yield from (_displayed(data, cell.source) for data in shown)


def _displayed(data: Mapping[str, str], code: str) -> str:
    """Return a displayed object: as HTML, a picture or text, the first that it has."""
    if "text/html" in data:
        return _html(data["text/html"])
    if "image/png" in data:
        alt = escape(f"Figure of {code.splitlines()[-1]}", quote=True)
        return _html(f'<img alt="{alt}" src="data:image/png;base64,{data["image/png"].strip()}">')
    return _text(data["text/plain"])


def _text(text: str) -> str:
    return f"```{{code-block}} text\n:class: output\n\n{text.rstrip()}\n```"


def _html(html: str) -> str:
    fence = "`" * 8
    return f'{fence}{{raw}} html\n<div class="output">{html}</div>\n{fence}'
