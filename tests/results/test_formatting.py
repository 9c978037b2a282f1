"""Check the formatting of numbers and units."""

import pytest

from philly_analysis.results import formatting


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (59, "59 s"),
        (60, "1 min"),
        (150, "2.5 min"),
        (7_199, "120 min"),
        (7_200, "2 h"),
        (172_799, "48 h"),
        (172_800, "2 days"),
        (1_209_599, "14 days"),
        (1_209_600, "2 weeks"),
        (604_800 * 21_937, "21,900 weeks"),
        (-90, "-1.5 min"),
    ],
)
def test_durations_have_the_usual_unit(seconds: float, words: str) -> None:
    assert formatting.duration(seconds) == words


@pytest.mark.parametrize(
    ("frac", "words"),
    [
        *((0, "0 %"), (1, "100 %"), (0.5, "50.0 %"), (0.0004, "0.04 %"), (0.9996, "99.96 %")),
        *((0.001, "0.1 %"), (0.00099, "0.10 %"), (0.999, "99.9 %"), (0.9991, "99.91 %")),
        *((0.00005, "0.01 %"), (0.00004, "<0.01 %"), (0.99995, ">99.99 %"), (0.99994, "99.99 %")),
    ],
)
def test_shares_never_round_to_none_or_all(frac: float, words: str) -> None:
    assert formatting.share(frac) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((None, "–"), (float("nan"), "–"), (float("inf"), "–"), (0.0, "0"), (5, "5")),
        *((1.234, "1.23"), (9.99, "9.99"), (10.0, "10.0"), (-99.94, "-99.9"), (100.0, "100")),
        *((999.4, "999"), (1000.0, "1,000"), (1234.5, "1,234"), (12_345, "12,345")),
    ],
)
def test_numbers_have_about_three_digits(value: float | None, words: str) -> None:
    assert formatting.number(value) == words
    if words[0] not in "–0-":
        assert formatting.number(value, signed=True) == f"+{words}"


def test_counts_agree_with_their_noun() -> None:
    assert formatting.count(1, "job") == "1 job"
    assert formatting.count(2_000, "job") == "2,000 jobs"
    assert formatting.count(0, "person", "people") == "0 people"


def test_gangs_in_words_and_in_names() -> None:
    assert [formatting.gang_label(g) for g in ("1", ">8")] == ["1 GPU", ">8 GPUs"]
    assert [formatting.slug(g) for g in ("1", "2-4", ">8")] == ["1", "2_4", "over_8"]
