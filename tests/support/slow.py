"""Run a few cases of a parametrised test in the quick suite, and all in ``make test-all``."""

from collections.abc import Iterable
from typing import Any

import pytest


def quick_first(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return the cases of a parametrised test; after the first `quick`, they are marked slow."""
    return [case if i < quick else _slow(case) for i, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    if hasattr(case, "marks"):  # what pytest.param returned
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
