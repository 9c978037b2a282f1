"""Export a workload to the file formats of other simulators."""

from philly_analysis.exports.request import ExportOptions
from philly_analysis.exports.sidecar import Exported
from philly_analysis.exports.writer import export, list_formats
