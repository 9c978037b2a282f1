"""Sphinx configuration; ``make docs`` writes the documentation to ``reports/docs/``.

Before Sphinx reads the folder, the pages under ``made/`` are generated from the package (schema,
headers of SQL files, docstrings, lists of sources, models, formats, policies) and the sample.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generated  # noqa: E402 - beside this file

import philly_analysis  # noqa: E402

generated.write(HERE / "made", trace=HERE.parent / "data" / "traces" / "sample")

project = "philly_analysis"
author = "The philly_analysis authors"
copyright = author  # noqa: A001 - Sphinx's name for it
version = release = philly_analysis.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md"]
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
