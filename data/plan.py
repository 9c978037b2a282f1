"""The plan of the synthetic sample: what to generate, and the clocks that it is written in."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

PACIFIC = ZoneInfo("America/Los_Angeles")
DAY_S = 86_400
WARM_UP_S = 7 * DAY_S
"""Jobs run before the first day; those that ended by then are left out, as in the archive."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to generate: the first day is centred so that 2017-11-05 falls inside."""

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
        """Seconds after the origin between which utilisation was recorded: the middle half."""
        return (self.days // 4 * DAY_S, (self.days - self.days // 4) * DAY_S)

    @property
    def restarts_s(self) -> tuple[int, ...]:
        """When the resource manager restarted: before the log, and twice in it."""
        return (-40 * DAY_S - 4_987, 3 * DAY_S + 51_582, 7 * DAY_S + 8_384)

    def at(self, seconds: float) -> datetime:
        """Return the moment so many seconds after the origin."""
        return self.origin + timedelta(seconds=seconds)


def clock(at: datetime) -> str:
    """Write a moment as the job log does: UTC, no zone."""
    return at.strftime("%Y-%m-%d %H:%M:%S")
