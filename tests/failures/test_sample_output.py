"""Check the bundled failure output: reasons as composed, seeds, the study's proportions."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.sample.generator import failure_output as made
from data.sample.generator import failure_texts
from philly_analysis.failures import classify_text
from philly_analysis.study.failures import table_7
from tests.support.repository import SAMPLE


@pytest.mark.slow
def test_every_text_is_classified_as_the_reason_it_was_composed_for() -> None:
    rng = np.random.default_rng(1)
    for reason, texts in failure_texts.ROOTS.items():
        for _ in range(4 * len(texts)):
            text = made.compose(reason, int(rng.choice([1, 8])), float(rng.choice([30, 9e4])), rng)
            assert classify_text(text).reason == reason, text


def test_every_reason_of_the_study_has_texts() -> None:
    assert list(failure_texts.ROOTS) == [row.reason for row in table_7()]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        made.write(SAMPLE, tmp_path / f"{name}.gz", seed)
    a, b, c = ((tmp_path / f"{name}.gz").read_bytes() for name in "abc")
    assert a == b != c


def test_the_bundled_output_belongs_to_the_bundled_sample(tmp_path: Path) -> None:
    made.write(SAMPLE, tmp_path / "again.gz", made.SEED)
    bundled = (SAMPLE / "failed-output" / "failures.jsonl.gz").read_bytes()
    again = (tmp_path / "again.gz").read_bytes()
    assert gzip.decompress(again) == gzip.decompress(bundled), "run `make sample`"


def test_reasons_of_trials_with_the_study_s_times_have_the_study_s_mix() -> None:
    rng = np.random.default_rng(3)
    rows = table_7()
    trials: list[Any] = []
    for row in rows:
        sigma = max(np.log(row.rtf_p90_min / row.rtf_p50_min) / made.Z90, made.LEAST_SIGMA)
        for gpus, n in ((1, row.gpus_1), (4, row.gpus_2_4), (8, row.gpus_over_4)):
            runs = 60 * row.rtf_p50_min * rng.lognormal(0, sigma, n // 20)
            trials += [made.Failed(f"j{len(trials) + i}", 1, gpus, r) for i, r in enumerate(runs)]
    drawn = Counter(made.draw_reasons(trials, rng))
    total = sum(row.trials for row in rows)
    for row in rows:
        share = row.trials / total
        error = 4 * np.sqrt(share / len(trials)) + 0.01
        assert drawn[row.reason] / len(trials) == pytest.approx(share, abs=error), row.reason
