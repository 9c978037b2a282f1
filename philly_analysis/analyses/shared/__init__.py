"""Parts of several findings: caveats, curves by group, and comparisons with the study."""
