"""Check time limits and moments against the forms that Slurm's manual lists."""

import pytest

from philly_analysis.errors import InputError
from philly_analysis.forecasts import moment_s, time_limit_s

HOUR = 3_600


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30 * 60),
        (90, 90 * 60),
        ("1:30", 90),
        ("8:00:00", 8 * HOUR),
        ("2-12", 60 * HOUR),
        ("1-00:30", 24 * HOUR + 1_800),
        ("1-02:03:04", 26 * HOUR + 184),
        ("8h", 8 * HOUR),
        ("90min", 90 * 60),
        (None, None),
    ],
)
def test_a_time_limit_is_read_as_slurm_reads_it(text: str | float | None, seconds: float) -> None:
    assert time_limit_s(text) == seconds


@pytest.mark.parametrize("text", ["soon", "-3", "0", "", "nan"])
def test_other_text_is_no_time_limit(text: str) -> None:
    with pytest.raises(InputError, match="no time limit"):
        time_limit_s(text)


def test_a_moment_without_zone_is_in_utc() -> None:
    assert moment_s("1970-01-02 00:00") == 86_400
    assert moment_s("1970-01-02T00:00+01:00") == 82_800
    assert moment_s(None) is None
    with pytest.raises(InputError, match="no moment"):
        moment_s("tomorrow-ish")
