"""Scripts behind the measured tables of the documentation."""
