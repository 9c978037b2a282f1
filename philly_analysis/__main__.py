"""Runs the command line as ``python -m philly_analysis``."""

from philly_analysis.cli import main

if __name__ == "__main__":
    main()
