"""Compute findings and write pages: of a trace, a comparison, the atlas, experiments, sweeps."""

from typing import TYPE_CHECKING

from philly_analysis.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from philly_analysis.report.advising import advice_page
    from philly_analysis.report.atlas_page import atlas_of
    from philly_analysis.report.comparison import side_by_side
    from philly_analysis.report.comparison_answers import comparison_page
    from philly_analysis.report.computing import analyze, compute
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
    from philly_analysis.report.summarising import Summary, summary
    from philly_analysis.report.trace_report import report

if not TYPE_CHECKING:  # type checkers would accept every name
    __getattr__, __dir__ = lazy_imports(
        __name__,
        {
            "advising": "advice_page",
            "atlas_page": "atlas_of",
            "comparison": "side_by_side",
            "comparison_answers": "comparison_page",
            "computing": "analyze compute",
            "experiment_pages": "experiment_folder experiment_page sweep_page",
            "findings": "ANALYSES CHAPTERS Own lacking list_findings relevant",
            "forecast_page": "forecast_of pending_of week_of",
            "model_pages": "model_page",
            "page": "Page",
            "sample_page": "demo",
            "summarising": "Summary summary",
            "trace_report": "report",
        },
    )
