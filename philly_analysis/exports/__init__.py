"""Other tools' file formats: one module per format, one function that writes any of them."""

from philly_analysis.exports.sidecar import Exported
from philly_analysis.exports.writing import FORMATS, export, faults

__all__ = ["FORMATS", "Exported", "export", "faults"]
