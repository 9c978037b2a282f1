"""Sphinx configuration; ``make docs`` writes the documentation to ``reports/docs/``.

Before Sphinx reads the folder, the pages and pictures under ``made/`` are generated from the
package (schema, headers of SQL files, docstrings, lists of sources, models, formats, policies) and
the sample. The code of some pages is executed as they are read.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docutils.nodes import Element, SkipNode, container, document, image, section
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "data" / "traces" / "sample"
sys.path.insert(0, str(HERE.parent))

import philly_analysis  # noqa: E402 - the checkout's, which the path above finds
from docs import execution, generated  # noqa: E402

generated.write(HERE / "made", trace=SAMPLE)

project = "philly_analysis"
author = "The philly_analysis authors"
copyright = author  # noqa: A001 - Sphinx's name for it
version = release = philly_analysis.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md", "made/costs.md"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "none"  # the signature has them
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
suppress_warnings = ["misc.highlighting_failure"]  # structs of DuckDB, crontabs
html_theme = "furo"
html_title = "philly_analysis"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["custom.css"]
html_extra_path = ["made/pages"]
html_math_renderer = "mathml"  # which browsers show without a script from a server


EXECUTED = {"tutorial": "philly-demo/sample", "own-analysis": "data/traces/sample"}
"""Pages whose code is executed, and where it expects the sample, with its computed findings."""


def _execute(_: Sphinx, page: str, source: list[str]) -> None:
    """Execute the code of a page, and keep the report that the tutorial writes."""
    if page not in EXECUTED:
        return
    with TemporaryDirectory() as folder:
        sample = Path(folder, EXECUTED[page])
        shutil.copytree(SAMPLE, sample)
        source[0] = execution.execute(source[0], Path(folder))
        if page == "tutorial":
            pages = HERE / "made" / "pages" / "reports"
            shutil.copytree(sample.with_name("reports"), pages, dirs_exist_ok=True)


def _formula(writer: HTML5Translator, node: Element) -> None:
    writer.body.append(tex2mathml(node.astext(), as_block=node.tagname == "math_block"))
    raise SkipNode


def _scrollable(_: Sphinx, page: document, __: str) -> None:
    """Put figures into boxes that scroll on narrow screens, where they would be too small."""
    for figure in list(page.findall(image)):
        if isinstance(figure.parent, section):
            box = container(classes=["wide"])
            figure.replace_self(box)
            box += figure


def setup(app: Sphinx) -> None:
    """Connect the execution of pages and the boxes of figures, and write formulas as MathML."""
    app.connect("source-read", _execute)
    app.connect("doctree-resolved", _scrollable)
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
