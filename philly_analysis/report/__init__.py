"""Compute findings and write pages: of a trace, a comparison, the atlas, experiments, sweeps."""

from philly_analysis.report.advising import advice_page
from philly_analysis.report.atlas_page import atlas_of, atlas_page
from philly_analysis.report.comparison import side_by_side
from philly_analysis.report.comparison_answers import comparison_page
from philly_analysis.report.computing import analyze, compute, draw_svg
from philly_analysis.report.experiment_pages import experiment_folder, experiment_page, sweep_page
from philly_analysis.report.findings import (
    ANALYSES,
    CHAPTERS,
    Findings,
    Own,
    lacking,
    list_findings,
    relevant,
)
from philly_analysis.report.model_pages import as_model, model_page
from philly_analysis.report.page import Page
from philly_analysis.report.sample_page import demo
from philly_analysis.report.trace_page import report
