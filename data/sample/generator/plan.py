"""Size, dates and clocks of the synthetic sample."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

PACIFIC = ZoneInfo("America/Los_Angeles")
DAY_S = 86_400
WARM_UP_S = 7 * DAY_S
"""Simulated time before the first day; jobs that end in it are excluded, as in the archive."""
READING_S = 300
"""Interval of utilisation readings: the archive's are one minute, which would be five times as
large."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Size, dates and load of the sample; its days are centred on 2017-11-05.

    Attributes
    ----------
    load
        Largest offered load of the drawn jobs. At 0.75 a third of the jobs wait, as jobs come in
        bursts.
    """

    seed: int = 20171105
    days: int = 28
    jobs: int = 6400
    machines: int = 24
    load: float = 0.75

    @property
    def origin(self) -> datetime:
        """Midnight, Pacific, of the first day; in UTC, without a zone."""
        first = datetime(2017, 11, 5) - timedelta(days=self.days // 2)
        return first.replace(tzinfo=PACIFIC).astimezone(UTC).replace(tzinfo=None)

    @property
    def end_s(self) -> int:
        """Seconds from the origin to the end of the log and of the readings."""
        return self.days * DAY_S

    @property
    def restarts_s(self) -> tuple[int, ...]:
        """Restarts of the resource manager: one before the log, two in it."""
        return (-40 * DAY_S - 4_987, 3 * DAY_S + 51_582, 7 * DAY_S + 8_384)

    def at(self, seconds: float) -> datetime:
        """Return the moment so many seconds after the origin."""
        return self.origin + timedelta(seconds=seconds)


def clock(at: datetime) -> str:
    """Format a time as the job log does: UTC, without a zone."""
    return at.strftime("%Y-%m-%d %H:%M:%S")
