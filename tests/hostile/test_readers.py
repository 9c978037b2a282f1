"""Check that mutated documents raise no error but those of the package."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.campaign import limited
from tests.hostile.readers import ATTACKS, READERS, _trace, asked, tried

DEAR = ("sacct, text", *(name for name in READERS if name.startswith("ingest ")))


def hold(name: str, folder: Path, tries: int) -> None:
    """Let Hypothesis draw documents of a reader."""

    @given(st.randoms(use_true_random=True))
    @settings(
        max_examples=tries,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    def law(rng: Random) -> None:
        with limited():
            tried(READERS[name], rng, folder)

    law()


@pytest.mark.parametrize("name", [name for name in READERS if name not in DEAR])
def test_a_reader_refuses_or_accounts_for_every_row(name: str, tmp_path: Path) -> None:
    hold(name, tmp_path, 8)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_reader_holds_out_for_long(name: str, tmp_path: Path) -> None:
    hold(name, tmp_path, 60 if name in DEAR else 1_000)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_question_reads_and_writes_nothing_but_the_trace(attack: str) -> None:
    asked(attack.format(t=_trace(), f=_trace().parent))
