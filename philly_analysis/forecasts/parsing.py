"""Read time limits and moments as users of schedulers type them."""

import pandas as pd

from philly_analysis.errors import InputError
from philly_analysis.slurm_text import duration_s

_MINUTE_S = 60


def time_limit_s(text: str | float | None) -> float | None:
    """Return a time limit in seconds.

    Parameters
    ----------
    text
        A number of minutes, a time as of Slurm (``30``, ``8:00:00``, ``2-12``), or a number with a
        unit (``90min``, ``8h``, ``2d``); None: no limit is known.

    Raises
    ------
    InputError
        The text has none of the accepted forms, or the limit is not positive.
    """
    if text is None:
        return None
    typed = str(text).strip()
    seconds: float | None = duration_s(typed, number_s=_MINUTE_S)
    if seconds is None:
        try:
            seconds = float(typed) * _MINUTE_S
        except ValueError:
            try:
                seconds = pd.Timedelta(typed).total_seconds()
            except ValueError:
                seconds = float("nan")
    if not seconds > 0:
        raise InputError(
            f"{typed!r:.100} is no time limit. Give minutes (90), a time as of Slurm (1:30:00, "
            "2-12), or a number with its unit (90min, 8h, 2d)."
        )
    return seconds


def moment_s(text: str | None) -> float | None:
    """Return a moment in seconds since 1970; a text without zone is in UTC.

    Raises
    ------
    InputError
        The text is no date with a time.
    """
    if text is None:
        return None
    moment = pd.to_datetime(text, utc=True, errors="coerce")
    if pd.isna(moment):
        raise InputError(f"{text!r:.100} is no moment. Give a UTC time, such as 2017-11-25 10:00.")
    return float(moment.timestamp())
