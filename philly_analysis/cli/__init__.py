"""The command line."""

from philly_analysis.cli.app import main

__all__ = ["main"]
