"""Score the shipped variation between periods on all lists of jobs, sites with equal weights.

    python -m data.checks.shipped_distribution > docs/measured/shipped-distribution.csv
    python -m data.checks.shipped_distribution --markdown

All lists are scored. A list that the estimates use is scored from its first week of regular use.
With ``--markdown`` the script prints the section *Other months of all lists* of
`philly_analysis/models/shipped/CALIBRATION.md`.
"""

import sys

from data.checks.coverage import markdown, measured, site_shares
from data.models.between_period.lists import DEVELOPED_ON, LISTS


def main() -> None:
    """Print the shares of the model's windows, with 90 % ranges over bootstraps of sites."""
    table = measured(LISTS, (), used=DEVELOPED_ON)
    if "--markdown" in sys.argv:
        print(markdown(table))
    else:
        shares = site_shares(table).drop(columns="lists").T
        print(shares.rename_axis("the shipped distribution").to_csv(), end="")


if __name__ == "__main__":
    main()
