"""Find time zones by name."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from philly_analysis.errors import InputError


def find_zone(name: str) -> tzinfo:
    """Return the time zone of a name.

    Raises
    ------
    InputError
        There is no time zone of that name.
    """
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # the last: a folder of zones, as Europe
        raise InputError(
            f"no time zone is named {name!r}. Give one by place, e.g. America/Los_Angeles."
        ) from None
