"""Compute findings and write pages: of a trace, a comparison, the atlas, experiments, sweeps."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from philly_analysis.report.advising import advice_page
    from philly_analysis.report.atlas_page import atlas_of, atlas_page
    from philly_analysis.report.comparison import side_by_side
    from philly_analysis.report.comparison_answers import comparison_page
    from philly_analysis.report.computing import analyze, compute, draw_svg
    from philly_analysis.report.experiment_pages import (
        experiment_folder,
        experiment_page,
        sweep_page,
    )
    from philly_analysis.report.findings import (
        ANALYSES,
        CHAPTERS,
        Own,
        lacking,
        list_findings,
        relevant,
    )
    from philly_analysis.report.forecast_page import forecast_of, pending_of, week_of
    from philly_analysis.report.model_pages import model_page
    from philly_analysis.report.page import Page
    from philly_analysis.report.sample_page import demo
    from philly_analysis.report.trace_report import report

_NAMES = {
    "advising": "advice_page",
    "atlas_page": "atlas_of atlas_page",
    "comparison": "side_by_side",
    "comparison_answers": "comparison_page",
    "computing": "analyze compute draw_svg",
    "experiment_pages": "experiment_folder experiment_page sweep_page",
    "findings": "ANALYSES CHAPTERS Own lacking list_findings relevant",
    "forecast_page": "forecast_of pending_of week_of",
    "model_pages": "model_page",
    "page": "Page",
    "sample_page": "demo",
    "trace_report": "report",
}
"""Names by module."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""The module of each name, imported on first use: all together take a third of a second."""

if not TYPE_CHECKING:  # which would take every absent attribute for one

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
