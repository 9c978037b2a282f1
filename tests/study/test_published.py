"""The study's printed tables as data: their own arithmetic, and where they must agree."""

import pytest

from philly_analysis.failures import REASONS
from philly_analysis.study.failures import table_7
from philly_analysis.study.published_numbers import archive, numbers
from philly_analysis.study.terms import STATUSES
from philly_analysis.study.utilisation import table_3, table_4, table_5

ROWS = table_7()


def test_rows_are_the_study_s_reasons_in_our_order() -> None:
    assert [row.reason for row in ROWS] == [reason.name for reason in REASONS]


def test_demand_columns_sum_to_the_trials_of_every_row() -> None:
    assert all(r.gpus_1 + r.gpus_2_4 + r.gpus_over_4 == r.trials for r in ROWS)


def test_columns_sum_to_the_printed_and_derived_totals() -> None:
    assert sum(r.trials for r in ROWS) == 39_776
    assert [sum(getattr(r, f"gpus_{n}") for r in ROWS) for n in ("1", "2_4", "over_4")] == [
        26_029,
        7_598,
        6_149,
    ]
    assert sum(r.rtf_share_pct for r in ROWS) == pytest.approx(100, abs=0.02)


def test_shares_of_run_time_times_demand_recompute_from_the_products() -> None:
    total = sum(r.rtf_x_demand for r in ROWS)
    for row in ROWS:
        assert 100 * row.rtf_x_demand / total == pytest.approx(
            row.rtf_x_demand_share_pct, abs=0.0051
        ), row.reason


def test_four_per_cent_match_no_signature() -> None:
    [none] = [r for r in ROWS if r.reason == "No signature"]
    assert 100 * none.trials / sum(r.trials for r in ROWS) == pytest.approx(4.23, abs=0.005)


def test_repetition_of_the_eight_most_frequent_rows_is_what_the_study_says() -> None:
    top = tuple(sorted(ROWS, key=lambda r: -r.trials)[:8])
    assert "No signature" in {r.reason for r in top}  # the printed factors count it as a reason
    assert sum(r.trials for r in top) / 39_776 == pytest.approx(0.8896, abs=5e-5)
    trials = sum(r.trials for r in top)
    per_job, per_user = trials / sum(r.jobs for r in top), trials / sum(r.users for r in top)
    assert (int(per_job * 10) / 10, int(per_user * 10) / 10) == (2.3, 38.8)


def test_largest_repetition_per_user_is_host_memory() -> None:
    [row] = [r for r in ROWS if r.reason == "CPU out of memory"]
    assert row.trials / row.users == pytest.approx(185.78, abs=0.005)
    assert max(ROWS, key=lambda r: r.trials / r.users) is row


def test_infrastructure_fails_rarely_but_late() -> None:
    late = [r for r in ROWS if r.reason in ("Model checkpoint error", "MPI runtime failure")]
    assert sum(r.trials for r in late) / 39_776 == pytest.approx(0.062, abs=5e-4)
    assert sum(r.rtf_share_pct for r in late) == pytest.approx(36.36, abs=0.01)
    assert sum(r.rtf_x_demand_share_pct for r in late) == pytest.approx(31.67, abs=0.01)


def test_a_mean_over_all_endings_lies_between_those_of_each() -> None:
    for gpus, by_status in table_3():
        assert len(by_status) == len(STATUSES)
        assert min(by_status) < numbers()["gpu_util", f"mean_all_{gpus}_pct"].published
        assert max(by_status) > numbers()["gpu_util", f"mean_all_{gpus}_pct"].published


def test_a_gang_is_slower_apart_and_slowest_among_others() -> None:
    images = table_4()
    assert list(images) == ["SameServer", "DiffServer", "IntraServer", "InterServer"]
    lost_pct = [round(100 * (1 - n / images["SameServer"]), 1) for n in images.values()]
    assert lost_pct == [0, 14.6, 34.1, 35.5]


def test_utilisation_falls_with_the_number_of_servers() -> None:
    assert [servers for servers, _ in table_5()] == [2, 4, 8]
    assert [relative for _, relative in table_5()] == pytest.approx([1, 0.938, 0.654], abs=5e-4)


def test_counts_of_the_archive_add_up() -> None:
    count = archive()
    ran = count["jobs"] - count["jobs_without_attempts"]
    assert count["attempts"] / ran == pytest.approx(1.36, abs=0.01)
    assert count["attempts_without_start"] < count["attempts_without_end"] < count["jobs"]
