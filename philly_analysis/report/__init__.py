"""Pages: chapters of findings, comparisons, and the templates that render them."""

from philly_analysis.report.chapters import analyze
from philly_analysis.report.comparison import side_by_side
from philly_analysis.report.page import atlas_page, report, results_page
from philly_analysis.report.sample_page import demo
from philly_analysis.report.sections import Chapter, section
