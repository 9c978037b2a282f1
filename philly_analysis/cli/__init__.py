"""The command line."""

from philly_analysis.cli.app import main
