"""The clock of files that print local time: its zone, and the hour that autumn brings twice."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1)
_US = timedelta(microseconds=1)


@dataclass(slots=True)
class Clock:
    """A wall clock whose readings come in order.

    Attributes
    ----------
    zone
        Where it hangs.
    asked
        Whether a time without a zone was read by it.
    """

    zone: tzinfo = UTC
    asked: bool = False
    _last: dict[object, datetime] = field(default_factory=dict)
    _again: dict[object, bool] = field(default_factory=dict)

    def at_us(self, text: str, of: object = None) -> int | None:
        """Return the moment of a time as text, in microseconds since 1970.

        Parameters
        ----------
        text
            ``2026/01/31 12:00:00.123``, or ISO 8601 with an offset or without.
        of
            Whose readings come in order, such as a GPU: of an hour that the clock shows twice
            they are the second time once they have stepped back.

        Returns
        -------
        int or None
            None where it is no time, or one that the clock never showed.
        """
        try:
            moment = datetime.fromisoformat(text.strip().replace("/", "-"))
            if moment.tzinfo is not None:
                return self.utc_us(moment.astimezone(UTC).replace(tzinfo=None), zoned=True)
        except (ValueError, OverflowError):  # the latter: beyond the first or the last year
            return None
        return self.utc_us(moment, of=of)

    def utc_us(self, local: datetime, *, zoned: bool = False, of: object = None) -> int | None:
        """Return microseconds since 1970 of a time; `zoned`: it is UTC already."""
        self.asked |= not zoned
        if zoned or self.zone is UTC:
            return (local - _EPOCH) // _US
        first, second = (
            local.replace(fold=f, tzinfo=self.zone).utcoffset() or timedelta() for f in (0, 1)
        )
        if first == second:
            self._again.pop(of, None)
            self._last.pop(of, None)
            return (local - _EPOCH - first) // _US
        if first < second:
            return None  # skipped in spring
        if of in self._last and local < self._last[of]:
            self._again[of] = True
        self._last[of] = local
        return (local - _EPOCH - (second if self._again.get(of) else first)) // _US
