"""Read time limits and moments as users of schedulers type them."""

import re

import pandas as pd

from philly_analysis.errors import InputError

_SLURM = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60


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
    if match := _SLURM.fullmatch(typed):
        days, *parts = (int(part or 0) for part in match.groups())
        first, second, third = parts
        if match[1] is not None:
            seconds: float = days * _DAY_S + first * _HOUR_S + second * _MINUTE_S + third
        elif match[4] is not None:
            seconds = first * _HOUR_S + second * _MINUTE_S + third
        else:
            seconds = first * _MINUTE_S + second
    else:
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
