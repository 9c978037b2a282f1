"""What several findings share: caveats, curves by group, and comparisons with the study."""
