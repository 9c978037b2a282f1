"""Convert local times to UTC in order, including the repeated hour of autumn."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1)
_US = timedelta(microseconds=1)


@dataclass(slots=True)
class Clock:
    """A local clock whose readings come in order.

    Attributes
    ----------
    zone
        Time zone of the clock.
    used
        Whether the clock has converted a time without a zone.
    """

    zone: tzinfo = UTC
    used: bool = False
    _last: dict[object, datetime] = field(default_factory=dict)
    _repeated: dict[object, bool] = field(default_factory=dict)

    def at_us(self, text: str, of: object = None) -> int | None:
        """Return microseconds since 1970 of a time as text.

        Parameters
        ----------
        text
            ``2026/01/31 12:00:00.123``, or ISO 8601 with or without an offset.
        of
            Key of the readings that come in order, such as a GPU. In a repeated hour, times
            belong to its second run once they have stepped back.

        Returns
        -------
        int or None
            None for a text that is no time, or a local time that was skipped.
        """
        try:
            time = datetime.fromisoformat(text.strip().replace("/", "-"))
            if time.tzinfo is not None:
                return self.utc_us(time.astimezone(UTC).replace(tzinfo=None), zoned=True)
        except (ValueError, OverflowError):  # the latter: beyond the first or the last year
            return None
        return self.utc_us(time, of=of)

    def utc_us(self, local: datetime, *, zoned: bool = False, of: object = None) -> int | None:
        """Return microseconds since 1970 of a local time, or of a UTC time if `zoned`."""
        self.used |= not zoned
        if zoned or self.zone is UTC:
            return (local - _EPOCH) // _US
        first, second = (
            local.replace(fold=f, tzinfo=self.zone).utcoffset() or timedelta() for f in (0, 1)
        )
        if first == second:
            self._repeated.pop(of, None)
            self._last.pop(of, None)
            return (local - _EPOCH - first) // _US
        if first < second:
            return None  # skipped in spring
        if of in self._last and local < self._last[of]:
            self._repeated[of] = True
        self._last[of] = local
        return (local - _EPOCH - (second if self._repeated.get(of) else first)) // _US
