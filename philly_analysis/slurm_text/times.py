"""Parse Slurm's durations, and the time in the name of a file of printed output."""

import re

_DURATION = re.compile(r"(?:(\d{1,6})-)?(\d{1,7})(?::(\d{1,6}))?(?::(\d{1,6}))?")
_IN_NAME = re.compile(
    r"(?<!\d)(\d{4}-?\d\d-?\d\d)[T_-]?(\d\d)[:-]?(\d\d)[:-]?(\d\d)(?:\.\d+)?(Z?)(?!\d)"
)
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60


def duration_s(text: str, *, number_s: int = 1) -> int | None:
    """Return a duration in seconds; None if the text is no duration, such as UNLIMITED.

    Parameters
    ----------
    text
        ``D-H[:M[:S]]``, ``H:M:S``, ``M:S``, or a number.
    number_s
        Seconds of a number by itself: 1 in output, 60 in options such as ``--time``.

    Examples
    --------
    >>> duration_s("7-00:00:00"), duration_s("2-12"), duration_s("00:10:00"), duration_s("1:30")
    (604800, 216000, 600, 90)
    >>> duration_s("30", number_s=60), duration_s("UNLIMITED")
    (1800, None)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    days, first, second, third = (int(part or 0) for part in match.groups())
    if match[1] or match[4]:
        return days * _DAY_S + first * _HOUR_S + second * _MINUTE_S + third
    return first * _MINUTE_S + second if match[3] else first * number_s


def time_in_name(name: str) -> str | None:
    """Return the time in the name of a file in the form of ISO 8601; None if there is no time.

    Examples
    --------
    >>> time_in_name("queue_2026-01-31T12-00-00Z.txt")
    '2026-01-31T12:00:00Z'
    """
    match = _IN_NAME.search(name)
    if match is None:
        return None
    day = match[1].replace("-", "")
    return f"{day[:4]}-{day[4:6]}-{day[6:]}T{match[2]}:{match[3]}:{match[4]}{match[5]}"
