"""Check that mutated documents raise no error except the package's own errors."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.campaign import limited
from tests.hostile.readers import ATTACKS, READERS, _trace, run_case, run_query

SLOW = ("sacct, text", *(name for name in READERS if name.startswith("ingest ")))


def fuzz(name: str, folder: Path, examples: int) -> None:
    """Run documents of a reader that Hypothesis draws."""

    @given(st.randoms(use_true_random=True))
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    def check(rng: Random) -> None:
        with limited():
            run_case(READERS[name], rng, folder)

    check()


@pytest.mark.parametrize("name", [name for name in READERS if name not in SLOW])
def test_a_reader_refuses_a_document_or_accounts_for_every_row(name: str, tmp_path: Path) -> None:
    fuzz(name, tmp_path, 8)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_reader_accounts_for_every_row_of_many_documents(name: str, tmp_path: Path) -> None:
    fuzz(name, tmp_path, 60 if name in SLOW else 1_000)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_query_neither_reads_nor_writes_outside_of_its_trace(attack: str) -> None:
    run_query(attack.format(t=_trace(), f=_trace().parent))
