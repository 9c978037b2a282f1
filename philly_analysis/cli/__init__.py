"""Run the command line."""

from philly_analysis.cli.commands import app, main
