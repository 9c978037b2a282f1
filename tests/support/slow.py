"""Run a few cases of a parametrised test in the quick suite, and all in ``make test-all``."""

from collections.abc import Iterable
from typing import Any

import pytest


def quick_first(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return the cases of a parametrised test; after the first `quick`, they are marked slow."""
    return [case if i < quick else _slow(case) for i, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    marks: Any = getattr(case, "marks", None)
    if marks is None:
        return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
    of_param: Any = case  # what pytest.param returned
    return pytest.param(*of_param.values, marks=[*marks, pytest.mark.slow], id=of_param.id)
