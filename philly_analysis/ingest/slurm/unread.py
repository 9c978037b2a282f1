"""Name the prints of Slurm's commands that no reader needs."""

import re

_PRINTS = (
    (r"\s*JOBID\b.*\bPRIORITY\b.*\bFAIRSHARE\b", "sprio, priorities of jobs"),
    (r"\s*Account\b.*\bRawShares\b", "sshare, shares of accounts"),
    (r"\*{20,}", "sdiag, statistics of the scheduler"),
    (r"(Cluster\|)?Name\|TRES\|Start", "sacctmgr show reservation"),
    (r"LicenseName=|No licenses configured", "scontrol show license"),
    (r"Configuration data as of", "scontrol show config"),
    (r"-{40,}", "sreport"),
)
"""Patterns of first lines, each with the command that prints the line, and its content."""


def unread_print(first: str) -> str | None:
    """Return which command printed a file of this first line, if no reader needs the print."""
    return next((what for pattern, what in _PRINTS if re.match(pattern, first)), None)
