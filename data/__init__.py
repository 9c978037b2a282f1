"""Scripts behind the sample, the shipped models and the measured tables of the documentation."""
