"""Compare the answers that the package ships with the public traces."""

from pathlib import Path

import pytest

from philly_analysis import atlas
from philly_analysis.atlas.claim import Evidence, Finding
from philly_analysis.atlas.datasets import known_datasets
from philly_analysis.atlas.public_clusters import shipped_answers

SHIPPED = {(f.claim, f.source): f for f in shipped_answers() if f.evidence is Evidence.ROWS}


def answer(claim: str, source: str) -> Finding:
    return SHIPPED[claim, source]


@pytest.mark.slow
@pytest.mark.real_data
def test_the_shipped_answers_are_those_of_the_traces(traces: Path) -> None:
    shipped = {(f.claim, f.cluster, f.source): f for f in shipped_answers()}
    table = atlas(datasets=traces).table.dropna(subset=["effect"])
    assert len(table) >= 150 and set(table["cluster"]) == {c for _, c, _ in shipped}
    for row in table.to_dict("records"):
        expected = shipped[row["claim"], row["cluster"], row["source"]]
        assert row["verdict"] == expected.verdict, row
        interval = [row["effect"], row["low"], row["high"]]
        effect = expected.effect
        due = [effect.value, effect.low, effect.high]
        assert interval == pytest.approx(due, rel=1e-5, nan_ok=True), row


def test_what_the_study_and_others_found_is_found_again() -> None:
    # 791 s: as the facts on the archive have it
    assert answer("jobs_are_short", "Philly attempts").effect.value == 791
    assert answer("gpu_time_is_in_few_jobs", "Philly attempts").verdict == "holds"
    # ATC'19, Table 3: 52 %; here gangs of several GPUs alone
    assert 45 < answer("gpus_are_used_little", "Philly multi-GPU").effect.value < 60
    # ATC'19, Table 5: spread gangs use less
    assert answer("spread_gangs_use_less", "Philly multi-GPU").effect.value < 0
    assert not any(claim == "fragmentation_delays_most" for claim, _ in SHIPPED)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("unsuccessful_jobs_cost_most", "Philly passed"),
        ("large_gangs_fail_more", "Philly passed"),
        ("failures_repeat", "Philly passed"),
        ("waits_rise_with_gangs", "Philly multi-GPU"),
        ("gpu_time_is_in_few_jobs", "MIT SuperCloud"),
    ],
)
def test_samples_do_not_answer_what_they_were_selected_by(claim: str, source: str) -> None:
    assert (claim, source) not in SHIPPED
    assert any(other == source for _, other in SHIPPED)


@pytest.mark.real_data
def test_every_folder_of_the_traces_is_known(traces: Path) -> None:
    folders = {f.name for f in traces.iterdir() if f.is_dir()}
    assert folders <= {d.folder for d in known_datasets()}
