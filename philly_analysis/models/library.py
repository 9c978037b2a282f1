"""The shipped workload models: parameters without data."""

import json
from functools import cache
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.errors import UnknownNameError

if TYPE_CHECKING:
    import pandas as pd

    from philly_analysis.models.workload_model import WorkloadModel

SHIPPED = Path(__file__).parent / "shipped"


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped models."""
    return tuple(sorted(p.stem for p in SHIPPED.glob("*.json")))


def models() -> "pd.DataFrame":
    """List the shipped workload models.

    Returns
    -------
    pandas.DataFrame
        One row per model: model, jobs (fitted to), fitted_on.
    """
    import pandas as pd

    made = [json.loads((SHIPPED / f"{name}.json").read_text("utf-8")) for name in shipped()]
    rows = [(m["name"], m["gang_size"]["overall"]["n"], m["fitted_on"]) for m in made]
    return pd.DataFrame(rows, columns=["model", "jobs", "fitted_on"])


def load_model(name: str | Path) -> "WorkloadModel":
    """Return a shipped model by name, or one from the path of a JSON file.

    Raises
    ------
    UnknownNameError
        No such shipped model, and no such file.
    ModelError
        The file is not a workload model.
    """
    from philly_analysis.models.workload_model import WorkloadModel

    if str(name) in shipped():
        return _shipped_model(str(name))
    if isfile(name):  # noqa: PTH113 - false for text that is too long for a path
        return WorkloadModel.load(name)
    raise UnknownNameError("workload model", str(name), shipped())


@cache
def _shipped_model(name: str) -> "WorkloadModel":
    """Return a shipped model, which is read once: its objects are immutable."""
    from philly_analysis.models.workload_model import WorkloadModel

    return WorkloadModel.load(SHIPPED / f"{name}.json")
