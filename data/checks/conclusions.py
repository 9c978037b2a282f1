"""Repeat published comparisons on the jobs of several clusters.

    python -m data.checks.conclusions > docs/measured/conclusions.csv

prints the factor of improvement of each comparison, with its 95 % interval over months, for each
source of jobs. It takes 4.4 CPU minutes.
"""

from philly_analysis import experiment
from philly_analysis.experiments import conclusions


def main() -> None:
    """Print a row for each comparison and source of jobs."""
    table = conclusions.verdicts(experiment("conclusions")["conclusions"].table)
    columns = {"headline": "comparison", "jobs_of": "jobs", "gain": "factor"}
    rows = table.rename(columns=columns)
    shown = rows[["comparison", "jobs", "factor", "low", "high", "verdict"]].round(2)
    print(shown.to_csv(index=False), end="")


if __name__ == "__main__":
    main()
