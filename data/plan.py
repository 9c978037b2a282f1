"""Size, dates and clocks of the synthetic sample."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

PACIFIC = ZoneInfo("America/Los_Angeles")
DAY_S = 86_400
WARM_UP_S = 7 * DAY_S
"""Simulated time before the first day; jobs that end in it are excluded, as in the archive."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Size and dates of the sample; its days are centred on 2017-11-05."""

    seed: int
    days: int
    jobs: int
    machines: int

    @property
    def origin(self) -> datetime:
        """Midnight, Pacific, of the first day; in UTC, without a zone."""
        first = datetime(2017, 11, 5) - timedelta(days=self.days // 2)
        return first.replace(tzinfo=PACIFIC).astimezone(UTC).replace(tzinfo=None)

    @property
    def sampled_s(self) -> tuple[int, int]:
        """Seconds from the origin to the start and end of the samples: the middle half."""
        return (self.days // 4 * DAY_S, (self.days - self.days // 4) * DAY_S)

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
