"""Print a script for cron that collects what ingest reads of a Slurm cluster."""

import shlex
from pathlib import Path
from string import Template

from philly_analysis.errors import InputError
from philly_analysis.ingest.slurm.fields import sacct_command
from philly_analysis.ingest.telemetry.metrics import METRICS

_SCRIPT = Path(__file__).with_name("collect.sh")
_HEAD = Template(
    """\
#!/bin/sh
# Collect what `philly ingest slurm` reads of a Slurm cluster. Printed by `philly slurm-collect`.
#
# Save this script as $script, and add this line to the crontab of a user
# who may see the jobs of all users:
#
# $schedule /bin/sh $script
#
# Ingest what is new:
#
# philly ingest slurm $folder TRACE --append$telemetry

folder=$folder
prometheus=$prometheus
metrics=$metrics
history_days=$history_days
keep_days=$keep_days
"""
)


def slurm_collect(
    folder: str | Path = "/var/spool/philly",
    *,
    prometheus: str | None = None,
    every_min: int = 5,
    history_days: int = 30,
    keep_days: int = 90,
) -> str:
    """Return the script; :func:`philly_analysis.api.slurm_collect` describes it."""
    if every_min < 1 or 60 % every_min:
        raise InputError(f"every_min is {every_min}; give a divisor of 60, such as 1, 5 or 10.")
    if min(history_days, keep_days) < 1:
        raise InputError("history_days and keep_days are at least 1.")
    home = Path(folder)
    head = _HEAD.substitute(
        script=shlex.quote(str(home / "bin" / "collect.sh")),
        folder=shlex.quote(str(home)),
        telemetry=f" --telemetry {shlex.quote(str(home / 'telemetry'))}" if prometheus else "",
        prometheus=shlex.quote((prometheus or "").rstrip("/")),
        metrics=shlex.quote(f'{{__name__=~"{"|".join(METRICS)}"}}'),
        schedule="* * * * *" if every_min == 1 else f"*/{every_min} * * * *",
        history_days=history_days,
        keep_days=keep_days,
    )
    body = _SCRIPT.read_text("utf-8").replace("@sacct@", sacct_command('"$1"', '"$2"'))
    return head + body.rstrip("\n")
