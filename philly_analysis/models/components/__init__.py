"""The components of a workload model, each fitted on its own."""
