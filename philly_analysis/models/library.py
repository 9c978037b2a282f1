"""The models that ship with the package: parameters, no data."""

from pathlib import Path

from philly_analysis.errors import UnknownNameError
from philly_analysis.models.workload_model import WorkloadModel

SHIPPED = Path(__file__).parent / "shipped"


def shipped() -> tuple[str, ...]:
    """Names of the models that ship."""
    return tuple(sorted(p.stem for p in SHIPPED.glob("*.json")))


def load_model(name: str | Path) -> WorkloadModel:
    """Return a model by the name of one that ships, or by the path of a JSON file.

    Raises
    ------
    UnknownNameError
        No such model ships, and there is no such file.
    ModelError
        The file is not a workload model.
    """
    if str(name) in shipped():
        return WorkloadModel.load(SHIPPED / f"{name}.json")
    if Path(name).is_file():
        return WorkloadModel.load(name)
    raise UnknownNameError("workload model", str(name), shipped())
